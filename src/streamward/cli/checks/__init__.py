"""What `streamward doctor` looks at: each check is a function from settings to one finding."""
