/** The types that a metadata column can have, by their DuckDB names. */

/** A tree, so that different spellings of a type compare as equal. */
export type ColumnType =
  | { readonly kind: 'plain'; readonly name: PlainTypeName }
  | { readonly kind: 'decimal'; readonly width: number; readonly scale: number }
  | { readonly kind: 'list'; readonly item: ColumnType }
  | { readonly kind: 'array'; readonly item: ColumnType; readonly length: number }
  | { readonly kind: 'struct'; readonly fields: readonly StructField[] }
  | { readonly kind: 'map'; readonly key: ColumnType; readonly value: ColumnType }

interface StructField {
  readonly name: string
  readonly type: ColumnType
}

/** Types without type parameters. */
export const COLUMN_TYPE_NAMES = [
  'BOOLEAN',
  'TINYINT',
  'SMALLINT',
  'INTEGER',
  'BIGINT',
  'HUGEINT',
  'UTINYINT',
  'USMALLINT',
  'UINTEGER',
  'UBIGINT',
  'UHUGEINT',
  'FLOAT',
  'DOUBLE',
  'DATE',
  'TIME',
  'TIMESTAMP',
  'TIMESTAMP_S',
  'TIMESTAMP_MS',
  'TIMESTAMP_NS',
  'TIMESTAMP WITH TIME ZONE',
  'INTERVAL',
  'UUID',
  'BLOB',
  'VARCHAR',
  'JSON',
] as const

type PlainTypeName = (typeof COLUMN_TYPE_NAMES)[number]

/** Aliases accepted by DuckDB. */
const ALIASES: Readonly<Record<string, PlainTypeName>> = {
  BOOL: 'BOOLEAN',
  LOGICAL: 'BOOLEAN',
  INT1: 'TINYINT',
  SHORT: 'SMALLINT',
  INT2: 'SMALLINT',
  INT16: 'SMALLINT',
  INT: 'INTEGER',
  INT4: 'INTEGER',
  INT32: 'INTEGER',
  SIGNED: 'INTEGER',
  INT8: 'BIGINT',
  INT64: 'BIGINT',
  LONG: 'BIGINT',
  INT128: 'HUGEINT',
  FLOAT4: 'FLOAT',
  REAL: 'FLOAT',
  FLOAT8: 'DOUBLE',
  'DOUBLE PRECISION': 'DOUBLE',
  DATETIME: 'TIMESTAMP',
  TIMESTAMP_US: 'TIMESTAMP',
  'TIMESTAMP WITHOUT TIME ZONE': 'TIMESTAMP',
  'TIME WITHOUT TIME ZONE': 'TIME',
  TIMESTAMPTZ: 'TIMESTAMP WITH TIME ZONE',
  GUID: 'UUID',
  BYTEA: 'BLOB',
  BINARY: 'BLOB',
  VARBINARY: 'BLOB',
  TEXT: 'VARCHAR',
  STRING: 'VARCHAR',
  CHAR: 'VARCHAR',
  BPCHAR: 'VARCHAR',
}

const PLAIN_TYPES: ReadonlyMap<string, PlainTypeName> = new Map([
  ...COLUMN_TYPE_NAMES.map((name) => [name, name] as const),
  ...Object.entries(ALIASES),
])

/** A type as DuckDB writes it: `DECIMAL(10,2)`, `STRUCT("a" INTEGER)[]`. */
export function typeText(type: ColumnType): string {
  switch (type.kind) {
    case 'plain':
      return type.name
    case 'decimal':
      return `DECIMAL(${type.width},${type.scale})`
    case 'list':
      return `${typeText(type.item)}[]`
    case 'array':
      return `${typeText(type.item)}[${type.length}]`
    case 'map':
      return `MAP(${typeText(type.key)}, ${typeText(type.value)})`
    case 'struct': {
      const fields = type.fields.map(({ name, type: inner }) => {
        return `"${name.replaceAll('"', '""')}" ${typeText(inner)}`
      })
      return `STRUCT(${fields.join(', ')})`
    }
  }
}

/** Returns null for a type that metadata columns cannot have. */
export function parseColumnType(text: string): ColumnType | null {
  if (text.length > TYPE_CHARS_MAX) return null
  const tokens = text.match(TOKENS) ?? []
  // Only white space may come between tokens.
  if (text.replaceAll(TOKENS, '').trim() !== '') return null
  const reader = new TypeReader(tokens)
  const type = reader.type(0)
  return type !== null && reader.isAtEnd ? type : null
}

/** The item type of a list; null for anything else. */
export function itemType(text: string): string | null {
  const type = parseColumnType(text)
  return type?.kind === 'list' || type?.kind === 'array' ? typeText(type.item) : null
}

const TYPE_CHARS_MAX = 10_000
const NESTING_MAX = 20
const DECIMAL_WIDTH_MAX = 38
const ARRAY_LENGTH_MAX = 100_000

const TOKENS = /"(?:[^"]|"")*"|[A-Za-z_][A-Za-z0-9_]*|\d+|[(),[\]]/g

class TypeReader {
  readonly #tokens: readonly string[]
  #at = 0

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens
  }

  get isAtEnd(): boolean {
    return this.#at === this.#tokens.length
  }

  type(depth: number): ColumnType | null {
    if (depth > NESTING_MAX) return null
    let type = this.#innermost(depth)
    while (type !== null && this.#take('[')) {
      const length = this.#peek() === ']' ? null : this.#integer(1, ARRAY_LENGTH_MAX)
      if (!this.#take(']') || length === undefined) return null
      type = length === null ? { kind: 'list', item: type } : { kind: 'array', item: type, length }
    }
    return type
  }

  #innermost(depth: number): ColumnType | null {
    const word = this.#word()
    if (word === null) return null
    if (word === 'STRUCT' || word === 'ROW') return this.#struct(depth)
    if (word === 'MAP') return this.#map(depth)
    if (word === 'DECIMAL' || word === 'NUMERIC' || word === 'DEC') return this.#decimal()
    const name = PLAIN_TYPES.get(this.#wholeName(word))
    return name === undefined ? null : { kind: 'plain', name }
  }

  /** Reads names of several words, such as `TIMESTAMP WITH TIME ZONE` and `DOUBLE PRECISION`. */
  #wholeName(first: string): string {
    const rest = this.#tokens.slice(this.#at, this.#at + 3).map((token) => token.toUpperCase())
    for (const count of [3, 1]) {
      const name = [first, ...rest.slice(0, count)].join(' ')
      if (rest.length >= count && PLAIN_TYPES.has(name)) {
        this.#at += count
        return name
      }
    }
    return first
  }

  #decimal(): ColumnType | null {
    if (!this.#take('(')) return { kind: 'decimal', width: 18, scale: 3 }
    const width = this.#integer(1, DECIMAL_WIDTH_MAX)
    if (width === undefined) return null
    const scale = this.#take(',') ? this.#integer(0, width) : 0
    if (scale === undefined || !this.#take(')')) return null
    return { kind: 'decimal', width, scale }
  }

  #struct(depth: number): ColumnType | null {
    if (!this.#take('(')) return null
    const fields: StructField[] = []
    const names = new Set<string>()
    do {
      const name = this.#name()
      const type = name === null ? null : this.type(depth + 1)
      if (name === null || type === null || names.has(name.toLowerCase())) return null
      names.add(name.toLowerCase())
      fields.push({ name, type })
    } while (this.#take(','))
    return this.#take(')') ? { kind: 'struct', fields } : null
  }

  #map(depth: number): ColumnType | null {
    if (!this.#take('(')) return null
    const key = this.type(depth + 1)
    const value = key !== null && this.#take(',') ? this.type(depth + 1) : null
    return key !== null && value !== null && this.#take(')') ? { kind: 'map', key, value } : null
  }

  #word(): string | null {
    const token = this.#peek()
    if (token === undefined || !/^[A-Za-z_]/.test(token)) return null
    this.#at += 1
    return token.toUpperCase()
  }

  #name(): string | null {
    const token = this.#peek()
    if (token === undefined || !/^[A-Za-z_"]/.test(token)) return null
    this.#at += 1
    const name = token.startsWith('"') ? token.slice(1, -1).replaceAll('""', '"') : token
    return name === '' ? null : name
  }

  #integer(min: number, max: number): number | undefined {
    const token = this.#peek()
    if (token === undefined || !/^\d{1,6}$/.test(token)) return undefined
    const value = Number(token)
    if (value < min || value > max) return undefined
    this.#at += 1
    return value
  }

  #peek(): string | undefined {
    return this.#tokens[this.#at]
  }

  #take(token: string): boolean {
    if (this.#peek() !== token) return false
    this.#at += 1
    return true
  }
}

/** Finds a type that holds the values of two types without loss. */

/** With 8, 16, 32, 64 and 128 bits. */
const SIGNED = ['TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'HUGEINT'] as const
const UNSIGNED = SIGNED.map((name) => `U${name}` as const)

interface IntegerRange {
  readonly min: bigint
  readonly max: bigint
}

const RANGES: ReadonlyMap<string, IntegerRange> = new Map(
  SIGNED.flatMap((name, index): (readonly [string, IntegerRange])[] => {
    const size = 1n << (8n << BigInt(index))
    const signed = { min: -size / 2n, max: size / 2n - 1n }
    return [
      [name, signed],
      [`U${name}`, { min: 0n, max: size - 1n }],
    ]
  }),
)

/** The range of an integer type, inclusive; null for any other type. */
export function integerRange(type: ColumnType): IntegerRange | null {
  return type.kind === 'plain' ? (RANGES.get(type.name) ?? null) : null
}

export function isNumberType(type: ColumnType): boolean {
  return type.kind === 'decimal' || integerRange(type) !== null || isFloat(type)
}

function isFloat(type: ColumnType): boolean {
  return type.kind === 'plain' && (type.name === 'FLOAT' || type.name === 'DOUBLE')
}

/** From coarse to fine. */
const TIMESTAMPS: readonly PlainTypeName[] = [
  'DATE',
  'TIMESTAMP_S',
  'TIMESTAMP_MS',
  'TIMESTAMP',
  'TIMESTAMP_NS',
]

/** null if only text fits. Number types become DECIMAL up to 38 digits, or DOUBLE. */
export function commonType(one: ColumnType, other: ColumnType): ColumnType | null {
  if (one.kind === 'list' && other.kind === 'list') {
    const item = commonType(one.item, other.item)
    return item && { kind: 'list', item }
  }
  if (one.kind === 'struct' && other.kind === 'struct') return commonStruct(one, other)
  if (one.kind === 'map' && other.kind === 'map') {
    const key = commonType(one.key, other.key)
    const value = commonType(one.value, other.value)
    return key && value && { kind: 'map', key, value }
  }
  if (one.kind === 'array' && other.kind === 'array' && one.length === other.length) {
    const item = commonType(one.item, other.item)
    return item && { kind: 'array', item, length: one.length }
  }
  if (isNumberType(one) && isNumberType(other)) return commonNumber(one, other)
  if (one.kind !== 'plain' || other.kind !== 'plain') return null
  if (one.name === other.name) return one
  const rank = Math.min(TIMESTAMPS.indexOf(one.name), TIMESTAMPS.indexOf(other.name))
  if (rank < 0) return null
  const later = Math.max(TIMESTAMPS.indexOf(one.name), TIMESTAMPS.indexOf(other.name))
  return plainType(TIMESTAMPS[later] ?? 'TIMESTAMP')
}

function plainType(name: PlainTypeName): ColumnType {
  return { kind: 'plain', name }
}

function commonStruct(
  one: { readonly fields: readonly StructField[] },
  other: { readonly fields: readonly StructField[] },
): ColumnType | null {
  if (one.fields.length !== other.fields.length) return null
  const fields: StructField[] = []
  for (const [index, { name, type }] of one.fields.entries()) {
    const twin = other.fields[index]
    const common = twin?.name === name ? commonType(type, twin.type) : null
    if (common === null) return null
    fields.push({ name, type: common })
  }
  return { kind: 'struct', fields }
}

function commonNumber(one: ColumnType, other: ColumnType): ColumnType {
  const [a, b] = [integerRange(one), integerRange(other)]
  if (a !== null && b !== null) {
    const min = a.min < b.min ? a.min : b.min
    const max = a.max > b.max ? a.max : b.max
    return narrowestInteger(min, max)
  }
  if (isFloat(one) || isFloat(other)) {
    const isSame = one.kind === 'plain' && other.kind === 'plain' && one.name === other.name
    return isSame ? one : plainType('DOUBLE')
  }
  const [p, q] = [digitsOf(one), digitsOf(other)]
  if (one.kind === 'decimal' && q.whole <= p.whole && q.scale <= p.scale) return one
  if (other.kind === 'decimal' && p.whole <= q.whole && p.scale <= q.scale) return other
  return decimalWith(Math.max(p.whole, q.whole), Math.max(p.scale, q.scale))
}

/** The first integer type that holds both `min` and `max`, signed if possible. */
function narrowestInteger(min: bigint, max: bigint): ColumnType {
  const names: readonly PlainTypeName[] = min < 0n ? SIGNED : UNSIGNED
  const found = names.find((name) => {
    const range = integerRange(plainType(name))
    return range !== null && range.min <= min && max <= range.max
  })
  return plainType(found ?? 'DOUBLE')
}

/** How many digits a type has before and after the decimal point. */
function digitsOf(type: ColumnType): { readonly whole: number; readonly scale: number } {
  if (type.kind === 'decimal') return { whole: type.width - type.scale, scale: type.scale }
  const range = integerRange(type)
  return { whole: range === null ? 0 : String(range.max).length, scale: 0 }
}

const DECIMAL_WIDTHS = [18, 38]

/** Or DOUBLE. Unless narrowest, with spare digits, so that columns are not widened each time. */
export function decimalWith(
  whole: number,
  scale: number,
  size: 'narrow' | 'roomy' = 'roomy',
): ColumnType {
  const needed = Math.max(1, whole + scale)
  const roomy = DECIMAL_WIDTHS.find((digits) => digits >= needed)
  if (roomy === undefined) return plainType('DOUBLE')
  return { kind: 'decimal', width: size === 'narrow' ? needed : roomy, scale }
}
