"""How a session ends: asked, made to, looked for once more, and reported."""
