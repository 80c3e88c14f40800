UPDATE topics SET partitions = ? WHERE topic_id = ?
