UPDATE objects SET results = NULL WHERE object_id = ?
