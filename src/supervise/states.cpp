#include "supervise/states.hpp"

#include <array>

namespace mayfly::supervise {
namespace {

using enum Action;

// A message that cannot come in a state (an exit before a start) is init breaking the protocol:
// it counts as lost. Once a verdict is settled (Ending, Killing) it stays: the first cause
// wins, and later ones only speed the end up. Lingering keeps it open: it is the main process's end
// if all others end by themselves, else what cut them short.
//
// A second SIGINT ends a running task as SIGTERM does, grace included; in Ending any second signal
// kills at once. A signal that comes first when the end has another cause (TTL, caller gone) is
// passed on and cuts nothing short.
constexpr std::array<std::array<Action, kStates>, kEvents> kTable = {{
    // clang-format off
    //                Starting     Running    Lingering  Ending       Killing
    /* Started     */ {MarkStarted, Lose,      Lose,      MarkStarted, MarkStarted},
    /* ExecFailed  */ {FailExec,    Lose,      Lose,      Kill,        Ignore},
    /* Exited      */ {FailSetup,   TakeExit,  Lose,      Kill,        Ignore},
    /* Drained     */ {FailSetup,   Lose,      Kill,      Kill,        Ignore},
    /* Stopped     */ {FailSetup,   Suspend,   Lose,      Ignore,      Ignore},
    /* Failed      */ {FailSetup,   Lose,      Lose,      Kill,        Ignore},
    /* Lost        */ {FailSetup,   Lose,      Lose,      Kill,        Ignore},
    /* TtlPassed   */ {Terminate,   Terminate, Terminate, Ignore,      Ignore},
    /* LimitPassed */ {Terminate,   Terminate, Terminate, Ignore,      Ignore},
    /* SetupPassed */ {FailSetup,   Ignore,    Ignore,    Ignore,      Ignore},
    /* GracePassed */ {Ignore,      Ignore,    Ignore,    Kill,        Ignore},
    /* CallerGone  */ {Terminate,   Terminate, Terminate, Ignore,      Ignore},
    /* Interrupt   */ {Pass,        Pass,      Terminate, Pass,        Hurry},
    /* Cancel      */ {Terminate,   Terminate, Terminate, Pass,        Hurry},
    /* Again       */ {Terminate,   Terminate, Terminate, Kill,        Hurry},
    // clang-format on
}};

}  // namespace

Action action_for(State state, Event event) {
  return kTable[static_cast<std::size_t>(event)][static_cast<std::size_t>(state)];
}

}  // namespace mayfly::supervise
