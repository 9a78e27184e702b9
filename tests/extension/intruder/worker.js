// Another extension, which wants to be ours.
