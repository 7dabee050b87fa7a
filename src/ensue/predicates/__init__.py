"""What the query asks about single events: evaluated a column at a time, combined into symbols."""
