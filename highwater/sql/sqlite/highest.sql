SELECT coalesce(max(number), 0) FROM fencerow_high_water WHERE source = ?1;
