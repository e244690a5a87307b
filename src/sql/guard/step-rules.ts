/** How many steps of a nanosecond or two each function takes that may take many, as SQL over its arguments. */
import { callNode, caseNode, greaterNode } from '../ast/build-expression.ts'
import {
  castNode,
  constantText,
  copyOf,
  integerNode,
  type TreeNode,
  textNode,
} from '../ast/select-ast.ts'

type Steps = (args: readonly TreeNode[]) => TreeNode | null

const MISSING = textNode('')

function double(node: TreeNode): TreeNode {
  return castNode(node, 'DOUBLE', false)
}

function argument(args: readonly TreeNode[], index: number): TreeNode {
  return { ...copyOf(args[index] ?? MISSING), alias: '' }
}

function bytes(args: readonly TreeNode[], index: number): TreeNode {
  return double(callNode('strlen', castNode(argument(args, index), 'VARCHAR', false)))
}

function length(args: readonly TreeNode[], index: number): TreeNode {
  return double(callNode('len', argument(args, index)))
}

function times(number: number, node: TreeNode): TreeNode {
  return callNode('*', double(integerNode(number)), node)
}

const twoTexts =
  (number: number): Steps =>
  (args) =>
    times(number, callNode('*', bytes(args, 0), bytes(args, 1)))

const eachElement =
  (number: number): Steps =>
  (args) =>
    args.length === 0 ? null : times(number, length(args, 0))

const twoLists: Steps = (args) => times(500, callNode('+', length(args, 0), length(args, 1)))

/** Compiling a pattern counts as this many bytes of text. */
const PATTERN_BYTES = 2000

const pattern: Steps = (args) => {
  const written = constantText(args[1])
  const states = written === undefined ? null : patternStates(written)
  // One pass, as for any other function that reads a text.
  if (states === 1) return null
  const each = states === null ? times(2, bytes(args, 1)) : double(integerNode(states))
  return callNode('*', each, callNode('+', bytes(args, 0), integerNode(PATTERN_BYTES)))
}

/** RE2 takes a step or two for each byte with a simple pattern, and as many as it has states with a hard one. */
function patternStates(text: string): number {
  const counts = [...text.matchAll(/\{(\d*),?(\d*)\}/g)].map(([, least = '', most = '']) => {
    return Math.max(1, Number(least), Number(most))
  })
  const states = counts.reduce((all, count) => all * count, 1)
  return states === 1 && text.length < 100 ? 1 : Math.min(1e6, text.length + states)
}

/** DuckDB tries every place for each wildcard but one; patterns that are known become regular expressions. */
const like: Steps = (args) => {
  const without = callNode('translate', argument(args, 1), textNode('%*'), textNode(''))
  const wildcards = callNode('-', bytes(args, 1), double(callNode('strlen', without)))
  const more = callNode('-', wildcards, integerNode(1))
  const power = callNode('pow', bytes(args, 0), copyOf(more))
  return caseNode(greaterNode(more, integerNode(0)), power, double(integerNode(0)))
}

const splitting: Steps = (args) => times(20, bytes(args, 0))
const merging: Steps = (args) => times(100, callNode('+', bytes(args, 0), bytes(args, 1)))

const LAMBDA_NAMES =
  'list_transform array_transform list_apply array_apply apply list_filter array_filter filter'
const REDUCING_NAMES = 'list_reduce array_reduce reduce'

const RULES: readonly (readonly [Steps, string])[] = [
  [twoTexts(2), 'levenshtein editdist3 jaro_similarity jaro_winkler_similarity'],
  [twoTexts(8), 'damerau_levenshtein'],
  [
    pattern,
    `regexp_matches regexp_full_match regexp_replace regexp_extract regexp_extract_all regexp_split_to_array
    regexp_split_to_table string_split_regex str_split_regex`,
  ],
  [like, '~~ !~~ ~~* !~~* ~~~ like_escape not_like_escape ilike_escape not_ilike_escape'],
  [splitting, 'split str_split string_split string_to_array'],
  [merging, 'json_merge_patch'],
  [eachElement(250), LAMBDA_NAMES],
  // Each step of a reduction runs its lambda by itself.
  [eachElement(4000), REDUCING_NAMES],
  [
    eachElement(500),
    `list_sort array_sort list_reverse_sort array_reverse_sort list_grade_up array_grade_up grade_up
    list_distinct array_distinct list_unique array_unique list_where array_where list_select array_select
    map map_from_entries list_zip array_zip`,
  ],
  // The operators compare lists or ranges.
  [
    twoLists,
    `list_intersect array_intersect list_has_any array_has_any list_has_all array_has_all && @> <@`,
  ],
]

const STEPS: ReadonlyMap<string, Steps> = new Map(
  RULES.flatMap(([steps, names]) => names.split(/\s+/).map((name) => [name, steps] as const)),
)

/** A DOUBLE; null: too few to count, whatever the arguments are. */
export function stepsOf(name: string, args: readonly TreeNode[]): TreeNode | null {
  return STEPS.get(name.toLowerCase())?.(args) ?? null
}

const LAMBDAS: ReadonlySet<string> = new Set(`${LAMBDA_NAMES} ${REDUCING_NAMES}`.split(' '))

/** Those that take a lambda: elsewhere the same arrow takes a value out of JSON. */
export function isLambdaFunction(name: string): boolean {
  return LAMBDAS.has(name.toLowerCase())
}
