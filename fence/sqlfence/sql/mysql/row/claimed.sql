SELECT {{.Columns}}
  FROM {{.Table}}
 WHERE {{.Match}}{{.Lock}}
