SELECT topic_id, name, partitions, configs FROM topics WHERE topic_id = ? AND deleted_ms IS NULL
