"""Every message that crosses a process boundary, and both ends of each link without I/O."""
