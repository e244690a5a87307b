-- What SHOW gives, by its subject: a SELECT over information_schema under the names that clients know. LIKE compares the
-- first column.

-- databases
SELECT
  NAME AS "Database"
FROM information_schema.databases;

-- full_databases
SELECT
  NAME AS "Database", TYPE AS "TYPE", ENGINE AS "ENGINE"
FROM information_schema.databases;

-- columns
SELECT
  COLUMN_NAME AS "Field", COLUMN_TYPE AS "Type", IS_NULLABLE AS "Null", COLUMN_KEY AS "Key",
  COLUMN_DEFAULT AS "Default", EXTRA AS "Extra"
FROM information_schema.columns;

-- full_columns
SELECT
  COLUMN_NAME AS "Field", COLUMN_TYPE AS "Type", COLLATION_NAME AS "Collation",
  IS_NULLABLE AS "Null", COLUMN_KEY AS "Key", COLUMN_DEFAULT AS "Default", EXTRA AS "Extra",
  PRIVILEGES AS "Privileges", COLUMN_COMMENT AS "Comment"
FROM information_schema.columns;

-- indexes
SELECT
  TABLE_NAME AS "Table", NON_UNIQUE AS "Non_unique", INDEX_NAME AS "Key_name",
  SEQ_IN_INDEX AS "Seq_in_index", COLUMN_NAME AS "Column_name", "COLLATION" AS "Collation",
  CARDINALITY AS "Cardinality", SUB_PART AS "Sub_part", PACKED AS "Packed", NULLABLE AS "Null",
  INDEX_TYPE AS "Index_type", COMMENT AS "Comment", INDEX_COMMENT AS "Index_comment",
  IS_VISIBLE AS "Visible", EXPRESSION AS "Expression"
FROM information_schema.statistics;

-- table_status
SELECT
  TABLE_NAME AS "Name", ENGINE AS "Engine", VERSION AS "Version", ROW_FORMAT AS "Row_format",
  TABLE_ROWS AS "Rows", AVG_ROW_LENGTH AS "Avg_row_length", DATA_LENGTH AS "Data_length",
  MAX_DATA_LENGTH AS "Max_data_length", INDEX_LENGTH AS "Index_length", DATA_FREE AS "Data_free",
  AUTO_INCREMENT AS "Auto_increment", CREATE_TIME AS "Create_time", UPDATE_TIME AS "Update_time",
  CHECK_TIME AS "Check_time", TABLE_COLLATION AS "Collation", CHECKSUM AS "Checksum",
  CREATE_OPTIONS AS "Create_options", TABLE_COMMENT AS "Comment"
FROM information_schema.tables;

-- character_sets
SELECT
  CHARACTER_SET_NAME AS "Charset", DESCRIPTION AS "Description",
  DEFAULT_COLLATE_NAME AS "Default collation", MAXLEN AS "Maxlen"
FROM information_schema.character_sets;

-- collations
SELECT
  COLLATION_NAME AS "Collation", CHARACTER_SET_NAME AS "Charset", ID AS "Id",
  IS_DEFAULT AS "Default", IS_COMPILED AS "Compiled", SORTLEN AS "Sortlen",
  PAD_ATTRIBUTE AS "Pad_attribute"
FROM information_schema.collations;

-- engines
SELECT
  ENGINE AS "Engine", SUPPORT AS "Support", COMMENT AS "Comment", TRANSACTIONS AS "Transactions",
  XA AS "XA", SAVEPOINTS AS "Savepoints"
FROM information_schema.engines;

-- errors
SELECT
  NULL::VARCHAR AS "Level", NULL::VARCHAR AS "Code", NULL::VARCHAR AS "Message"
WHERE false;

-- routines
SELECT
  ROUTINE_SCHEMA AS "Db", ROUTINE_NAME AS "Name", ROUTINE_TYPE AS "Type", DEFINER AS "Definer",
  LAST_ALTERED AS "Modified", CREATED AS "Created", SECURITY_TYPE AS "Security_type",
  ROUTINE_COMMENT AS "Comment", CHARACTER_SET_CLIENT AS "character_set_client",
  COLLATION_CONNECTION AS "collation_connection", DATABASE_COLLATION AS "Database Collation"
FROM information_schema.routines;

-- plugins
SELECT
  PLUGIN_NAME AS "Name", PLUGIN_STATUS AS "Status", PLUGIN_TYPE AS "Type",
  PLUGIN_LIBRARY AS "Library", PLUGIN_LICENSE AS "License"
FROM information_schema.plugins;

-- privileges
SELECT
  NULL::VARCHAR AS "Privilege", NULL::VARCHAR AS "Context", NULL::VARCHAR AS "Comment"
WHERE false;

-- processlist
SELECT
  ID AS "Id", USER AS "User", HOST AS "Host", DB AS "db", COMMAND AS "Command", TIME AS "Time",
  STATE AS "State", INFO AS "Info"
FROM information_schema.processlist;

-- status
SELECT
  VARIABLE_NAME AS "Variable_name", VARIABLE_VALUE AS "Value"
FROM information_schema.session_status;

-- variables
SELECT
  VARIABLE_NAME AS "Variable_name", VARIABLE_VALUE AS "Value"
FROM information_schema.session_variables;
