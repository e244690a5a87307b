import type {
  DataSourceEngine,
  SourceColumn,
  SourceTableName,
} from '../../core/domain/flow/source-parameters.ts'
import type { SourceValue } from '../../core/domain/ports/engine-ports.ts'

/** How a source compares a column's values, if that is known to match DuckDB. */
export type ColumnKind =
  | { readonly kind: 'integer'; readonly digits: number }
  | { readonly kind: 'decimal'; readonly precision: number; readonly scale: number }
  | { readonly kind: 'double' | 'text' | 'truth' | 'date' | 'timestamp' | 'timestamptz' | 'uuid' }

const INTEGER_DIGITS: Readonly<Record<string, number>> = {
  TINYINT: 3,
  UTINYINT: 3,
  SMALLINT: 5,
  USMALLINT: 5,
  INTEGER: 10,
  UINTEGER: 10,
  BIGINT: 19,
  UBIGINT: 20,
}

/** The source's types that compare like DuckDB's. Others, such as char(n), are not used. */
const NATIVE: Readonly<Record<DataSourceEngine, Readonly<Record<string, RegExp>>>> = {
  postgres: {
    integer: /^(smallint|integer|bigint|int[248]|oid)$/,
    // A numeric without precision is rounded in transfer.
    decimal: /^(numeric|decimal)\(/,
    double: /^(double precision|float8)$/,
    text: /^(text|varchar|character varying)(\(\d+\))?$/,
    truth: /^(boolean|bool)$/,
    date: /^date$/,
    timestamp:
      /^(timestamp without time zone|timestamp)(\(\d+\))?$|^timestamp\(\d+\) without time zone$/,
    timestamptz:
      /^(timestamp with time zone|timestamptz)(\(\d+\))?$|^timestamp\(\d+\) with time zone$/,
    uuid: /^uuid$/,
  },
  mysql: {
    integer: /^(tiny|small|medium|big)?int(eger)?(\(\d+\))?( unsigned)?$/,
    decimal: /^(decimal|numeric)(\(\d+(,\s*\d+)?\))?$/,
    double: /^double( precision)?$/,
    text: /^(varchar|char)(\(\d+\))?$|^(tiny|medium|long)?text$/,
    date: /^date$/,
    timestamp: /^datetime(\(\d+\))?$/,
  },
  sqlite: {},
  duckdb: {
    integer: /./,
    decimal: /./,
    double: /./,
    text: /^varchar$/,
    truth: /./,
    date: /./,
    timestamp: /^timestamp$/,
    timestamptz: /./,
    uuid: /./,
  },
}

/** Undefined if unknown. */
export function columnKind(column: SourceColumn, engine: DataSourceEngine): ColumnKind | undefined {
  const kind = kindOfType(column.type.toUpperCase())
  if (kind === undefined) return undefined
  const native = NATIVE[engine][kind.kind]
  return native?.test(column.nativeType.toLowerCase()) === true ? kind : undefined
}

function kindOfType(type: string): ColumnKind | undefined {
  const digits = INTEGER_DIGITS[type]
  if (digits !== undefined) return { kind: 'integer', digits }
  const [, precision, scale] = /^DECIMAL\((\d+),\s*(\d+)\)$/.exec(type) ?? []
  if (precision !== undefined) {
    return { kind: 'decimal', precision: Number(precision), scale: Number(scale) }
  }
  return PLAIN_KINDS[type]
}

const PLAIN_KINDS: Readonly<Record<string, ColumnKind | undefined>> = {
  DOUBLE: { kind: 'double' },
  VARCHAR: { kind: 'text' },
  BOOLEAN: { kind: 'truth' },
  DATE: { kind: 'date' },
  TIMESTAMP: { kind: 'timestamp' },
  'TIMESTAMP WITH TIME ZONE': { kind: 'timestamptz' },
  TIMESTAMPTZ: { kind: 'timestamptz' },
  UUID: { kind: 'uuid' },
}

/** Whether the source's type equals DuckDB's, so that values are not rounded in transfer. */
export function isSameDecimal(column: SourceColumn, precision: number, scale: number): boolean {
  const [, width, places = '0'] = /\((\d+)(?:,\s*(\d+))?\)/.exec(column.nativeType) ?? []
  return Number(width) === precision && Number(places) === scale
}

/** Builds text in the source's own SQL: names, values, and comparisons by bytes. */

export class SourceText {
  readonly engine: DataSourceEngine
  readonly values: SourceValue[] = []

  constructor(engine: DataSourceEngine) {
    this.engine = engine
  }

  name(name: string): string {
    // In double quotes, SQLite reads the name of a missing column as a text.
    const mark = this.engine === 'mysql' || this.engine === 'sqlite' ? '`' : '"'
    return mark + name.replaceAll(mark, mark + mark) + mark
  }

  table({ schema, name }: SourceTableName): string {
    return schema === null ? this.name(name) : `${this.name(schema)}.${this.name(name)}`
  }

  text(value: string): string {
    this.values.push(value)
    if (this.engine === 'mysql' || this.engine === 'sqlite') return '?'
    return this.engine === 'postgres' ? `$${this.values.length}::text` : `$${this.values.length}`
  }

  /** Compares UTF-8 bytes under every collation, as DuckDB does. */
  bytes(text: string): string {
    switch (this.engine) {
      case 'postgres':
        return `convert_to(${text}, 'UTF8')`
      case 'mysql':
        return `CAST(CONVERT(${text} USING utf8mb4) AS BINARY)`
      default:
        return text
    }
  }

  /** A value to compare with the bytes of a column. */
  bytesOf(value: string): string {
    return this.bytes(this.text(value))
  }

  /** A condition that an index can answer, before bytes are compared; '' if there is none. */
  indexed(name: string, values: readonly string[]): string {
    if (this.engine === 'duckdb') return ''
    const placed = values.map((value) => this.text(value))
    return `${name} ${placed.length === 1 ? `= ${placed[0]}` : `IN (${placed.join(', ')})`} AND `
  }

  /** The text of a column. */
  plain(name: string): string {
    return name
  }

  literal(kind: 'date' | 'timestamp' | 'timestamptz' | 'uuid', text: string): string {
    if (kind === 'uuid') return `'${text}'::uuid`
    return `${kind.toUpperCase()} '${text}'`
  }

  double(value: number): string {
    if (this.engine === 'mysql') return value.toExponential()
    return `'${value.toExponential()}'::${this.engine === 'duckdb' ? 'DOUBLE' : 'float8'}`
  }
}
