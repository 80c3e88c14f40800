UPDATE topics SET deleted_ms = ? WHERE topic_id = ?
