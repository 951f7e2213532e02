"""How a result looks: as JSON, as text in a pipe, drawn on a terminal. What it says is the views' to know."""
