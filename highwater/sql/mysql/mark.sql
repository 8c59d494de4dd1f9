SELECT number FROM fencerow_high_water WHERE source = ? AND resource = ?;
