SELECT epoch FROM brokers WHERE node_id = ?
