/** A column whose values can be compared as numbers in memory: words are numbered, and equal texts have equal hashes. */
export interface ConditionColumn {
  /** Its physical name. */
  readonly name: string
  readonly kind: 'number' | 'truth' | 'word' | 'day' | 'time' | 'hash'
}

/** A value written in the statement, or the name it is bound to. */
export type ConditionValue = { readonly written: string } | { readonly parameter: string }

/**
 * A condition with SQL's three truth values: true, false, unknown. `certain`: unknown counts as false. `in`: the value is
 * a list.
 */
export type ColumnCondition =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly ColumnCondition[] }
  | { readonly kind: 'not' | 'certain'; readonly part: ColumnCondition }
  | { readonly kind: 'null'; readonly column: ConditionColumn }
  | {
      readonly kind: '=' | '<' | '<=' | 'in'
      readonly column: ConditionColumn
      readonly value: ConditionValue
    }

/** Each column that a condition names. */
export function columnsOf(condition: ColumnCondition): readonly ConditionColumn[] {
  if ('parts' in condition) return condition.parts.flatMap(columnsOf)
  return 'part' in condition ? columnsOf(condition.part) : [condition.column]
}

/** undefined: nothing is bound to that name. */
export function conditionValue<Bound>(
  value: ConditionValue,
  bound: Readonly<Record<string, Bound>>,
): Bound | string | number | boolean | undefined {
  if ('parameter' in value) return bound[value.parameter]
  const { written } = value
  if (written.startsWith("'")) return written.slice(1, -1).replaceAll("''", "'")
  return written === 'true' || written === 'false' ? written === 'true' : Number(written)
}
