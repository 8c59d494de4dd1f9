SELECT source FROM fencerow_source WHERE id = 1;
