/** Text of the source's own SQL: names, values, and texts compared byte by byte. */
import type { DataSourceEngine, SourceTableName } from '../../core/domain/flow/source-parameters.ts'
import type { SourceValue } from '../../core/domain/ports/engine-ports.ts'

/** Collects the values of a statement's placeholders. */
export class SourceText {
  readonly engine: DataSourceEngine
  readonly values: SourceValue[] = []

  constructor(engine: DataSourceEngine) {
    this.engine = engine
  }

  name(name: string): string {
    // In double quotes SQLite takes the name of a column that is not there as a text.
    const mark = this.engine === 'mysql' || this.engine === 'sqlite' ? '`' : '"'
    return mark + name.replaceAll(mark, mark + mark) + mark
  }

  table({ schema, name }: SourceTableName): string {
    return schema === null ? this.name(name) : `${this.name(schema)}.${this.name(name)}`
  }

  /** The placeholder of a text. */
  text(value: string): string {
    this.values.push(value)
    if (this.engine === 'mysql' || this.engine === 'sqlite') return '?'
    return this.engine === 'postgres' ? `$${this.values.length}::text` : `$${this.values.length}`
  }

  /** Compares by the bytes of UTF-8, as DuckDB does, whatever the collation is. */
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

  literal(kind: 'date' | 'timestamp' | 'timestamptz' | 'uuid', text: string): string {
    if (kind === 'uuid') return `'${text}'::uuid`
    return `${kind.toUpperCase()} '${text}'`
  }

  double(value: number): string {
    if (this.engine === 'mysql') return value.toExponential()
    return `'${value.toExponential()}'::${this.engine === 'duckdb' ? 'DOUBLE' : 'float8'}`
  }
}
