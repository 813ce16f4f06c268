// Package sandbox owns how a command is confined: what this host allows, the levels of confinement from strongest to weakest, the
// limits on time, memory, disk and processes, and that nothing a command started outlives it.
//
// It knows argument vectors, directories and limits; it does not know what a command means. It never falls back to less
// confinement than was found at the start, and it refuses to run anything unconfined unless told to.
//
// Every level has the same shape. The daemon starts its own binary again in a hidden mode ([ServeExec]), inside bubblewrap or inside
// namespaces where the host allows it. That process, the supervisor, builds the view of the file system, starts the command through
// a launcher that sheds what is left of its powers, watches the limits, and ends everything before it reports. A pipe that it holds
// open tells it when the daemon is gone.
package sandbox
