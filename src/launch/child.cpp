// The child half of the launch.
