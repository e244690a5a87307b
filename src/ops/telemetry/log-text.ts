/** Formats log lines for people: `12:03:04 POST /api/sql/query 200 12 ms  key ci  7f0c…`. */

export interface LogStyle {
  /** Whether lines are formatted for people instead of as JSON. */
  readonly isText: boolean
  readonly hasColours: boolean
}

export function logStyleOf(
  { logFormat }: { readonly logFormat: 'auto' | 'json' | 'text' },
  environment: Readonly<Record<string, string | undefined>>,
  isTerminal = isTerminalOutput(),
): LogStyle {
  const isText = logFormat === 'text' || (logFormat === 'auto' && isTerminal)
  const isPlain = Boolean(environment.NO_COLOR) || environment.TERM === 'dumb'
  return { isText, hasColours: isText && isTerminal && !isPlain }
}

/** Loads `node:tty` only when it is called, because a supervisor never needs it without a crash. */
function isTerminalOutput(): boolean {
  return process.getBuiltinModule('node:tty').isatty(1)
}

const CAUSES_MAX = 5
const TEXT_MAX = 4_000

/** The log fields of a failure, including its cause, which clients never see. */
export function failureFields(error: unknown): {
  readonly message: string
  readonly stack: string | undefined
  readonly causes?: readonly string[]
} {
  const causes: string[] = []
  let cause = error instanceof Error ? error.cause : undefined
  while (cause !== undefined && cause !== null && causes.length < CAUSES_MAX) {
    causes.push(textOfError(cause).slice(0, TEXT_MAX))
    cause = cause instanceof Error ? cause.cause : undefined
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  return { message, stack, ...(causes.length === 0 ? {} : { causes }) }
}

function textOfError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

type Fields = Readonly<Record<string, unknown>>

const COLOUR_CODES = { red: 31, green: 32, yellow: 33, cyan: 36, dim: 2 } as const

type Paint = (text: string, colour: keyof typeof COLOUR_CODES) => string

/**
 * Formats a JSON log line for people. Text in it can neither move the cursor nor forge another
 * line.
 * @param hasColours set only for a terminal that shows colours
 */
export function logText(json: string, hasColours: boolean): string {
  const { level, time, msg, ...fields } = fieldsText(json)
  const paint: Paint = (text, colour) => {
    return hasColours ? `\u001b[${COLOUR_CODES[colour]}m${text}\u001b[0m` : text
  }
  const at = new Date(Number(time))
  const clock = [at.getHours(), at.getMinutes(), at.getSeconds()]
  const shownTime = clock.map((part) => String(part).padStart(2, '0')).join(':')
  const said = String(msg ?? fields.message ?? '')
  return `${paint(shownTime, 'dim')} ${shownLine(said, Number(level), fields, paint)}\n`
}

/** Only lines of the program's own logger arrive here. */
function fieldsText(json: string): Fields {
  try {
    return JSON.parse(json)
  } catch {
    return { level: 30, time: Date.now(), msg: json }
  }
}

function shownLine(said: string, level: number, fields: Fields, paint: Paint): string {
  if (said === 'request') return requestLine(fields, paint)
  const text = eventText(said, fields)
  if (level >= 50) return paint(text, 'red')
  return level >= 40 ? paint(text, 'yellow') : text
}

function eventText(said: string, fields: Fields): string {
  if (said === 'failure') return failureText(fields)
  return said.startsWith('job ')
    ? jobLine(said, fields)
    : [said, ...namedFields(fields)].map(withoutControls).join('  ')
}

function requestLine(
  { method, path, status, ms, code, principal, requestId }: Fields,
  paint: Paint,
): string {
  const number = Number(status)
  const colour = number >= 500 ? 'red' : number >= 400 ? 'yellow' : 'green'
  const outcome = typeof code === 'string' ? `${number} ${withoutControls(code)}` : String(number)
  const took = `${Math.round(Number(ms))} ms`
  const what = `${withoutControls(String(method))} ${withoutControls(String(path))} ${paint(outcome, colour)} ${took}`
  const who = typeof principal === 'string' ? `  ${paint(withoutControls(principal), 'cyan')}` : ''
  return `${what}${who}  ${paint(withoutControls(String(requestId)), 'dim')}`
}

/** The stack already starts with the message; each cause gets its own lines. */
function failureText({ requestId, message, stack, causes }: Fields): string {
  const lines = [
    String(stack ?? message),
    ...(Array.isArray(causes) ? causes : []).map((cause) => `caused by ${cause}`),
  ]
  const indented = lines
    .flatMap((one) => one.split('\n'))
    .map((line) => withoutControls(line.trimEnd()))
  return `failure of ${withoutControls(String(requestId))}: ${indented.join('\n  ')}`
}

/** For example `job 12 insert completed: docs in shop  1200 of 1200 rows  3 errors`. */
function jobLine(
  said: string,
  { id, kind, state, title, rows, total, rate, errorCount, error }: Fields,
): string {
  const head = `job ${String(id)} ${String(kind)} ${said === 'job over' ? String(state) : said.slice(4)}`
  const parts = [
    typeof rows === 'number'
      ? `${rows}${typeof total === 'number' ? ` of ${total}` : ''} rows`
      : '',
    typeof rate === 'number' ? `${Math.round(rate)}/s` : '',
    Number(errorCount) > 0 ? `${String(errorCount)} errors` : '',
    typeof error === 'string' ? error : '',
  ]
  return withoutControls(
    [`${head}: ${String(title)}`, ...parts.filter((part) => part !== '')].join('  '),
  )
}

function namedFields(fields: Fields): readonly string[] {
  return Object.entries(fields).flatMap(([name, value]) => {
    if (value === null || value === undefined) return []
    return [`${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`]
  })
}

/** Makes outside text safe: it can no longer move the cursor, reverse text or start a new line. */
function withoutControls(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out.
  return text.replace(/[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g, (sign) => {
    return `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}
