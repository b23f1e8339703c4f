"""What `compactor check` looks at: a function for each line, from what it needs to what it says."""
