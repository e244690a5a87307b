/**
 * Questions about the READMEs that the demo loads, with what an answer must contain, written after
 * reading those READMEs. They are only for measuring, so the agent is not tuned to any of them.
 */
export interface AnswerableQuestion {
  readonly kind: 'what' | 'how' | 'default' | 'fact' | 'name' | 'why'
  readonly question: string
  /** The package whose README contains the answer. */
  readonly document: string
  /** What the quotes must contain, ignoring Markdown and line breaks. */
  readonly expected: RegExp
}

export interface UnanswerableQuestion {
  readonly kind: 'off topic' | 'on topic'
  readonly question: string
}

export interface TableQuestion {
  readonly question: string
  /** A statement that the answer must contain and that must run; null if words suffice. */
  readonly statement: RegExp | null
}

type Row = readonly [question: string, document: string, expected: RegExp]

const WHAT: readonly Row[] = [
  [
    'What is fflate?',
    'fflate',
    /fastest, smallest, and most versatile|\(de\)compression in an 8kB/,
  ],
  ['What is croner used for?', 'croner', /Trigger functions/],
  ['What is PDFium?', '@embedpdf/pdfium', /open-source PDF rendering engine/],
  ['What does pg-pool do?', 'pg-pool', /connection pool for node-postgres/],
  ['What is micromark?', 'micromark', /open source markdown parser/],
  ['What does adm-zip do?', 'adm-zip', /zip data compression|decompress zip files/],
  ['What is sonic-boom?', 'sonic-boom', /utf8-only stream implementation/],
  ['What is Drizzle?', 'drizzle-orm', /modern TypeScript ORM/],
  [
    'What does the protect option of croner do?',
    'croner',
    /over-run protection|block new triggers/,
  ],
  ['What is gracefulExit in cli-progress?', 'cli-progress', /SIGINT.{0,40}SIGTERM/],
  [
    'What does awaitWriteFinish do?',
    'chokidar',
    /size does not change|poll file size|write operation to finish/,
  ],
  [
    'What does getMatchingLineNumber return?',
    'robots-parser',
    /line number of the matching directive/,
  ],
  ['What is DEBUG_DEPTH for?', 'debug', /Object inspection depth/],
  ['What does the httpOnly attribute of a cookie do?', 'cookie', /document\.cookie/],
  ['What does ipaddr.process do?', 'ipaddr.js', /converts IPv4-mapped IPv6/],
]

const HOW: readonly Row[] = [
  ['How do I install chokidar?', 'chokidar', /npm install chokidar/],
  [
    'How do I stop watching files with chokidar?',
    'chokidar',
    /watcher\.close\(\)|\.close\(\)|unwatch/,
  ],
  ['How can I end the connection pool?', 'pg-pool', /pool\.end\(\)/],
  ['How do I pause a cron job?', 'croner', /job\.pause\(\)|paused/],
  [
    'How do I exclude URLs from the proxy of global-agent?',
    'global-agent',
    /GLOBAL_AGENT_NO_PROXY/,
  ],
  ['How do I set the DEBUG variable in PowerShell?', 'debug', /\$env:DEBUG/],
  ['How do I detect the file type of a stream?', 'file-type', /fileTypeFromStream/],
  ['How do I add a file to a zip archive with adm-zip?', 'adm-zip', /addFile|addLocalFile/],
  ['How do I convert 2 days to milliseconds?', 'ms', /ms\('2 days'\)|172800000/],
  ['How do I use Readability in Node.js?', '@mozilla/readability', /jsdom|JSDOM/],
  ['How do I change the log level colour off in debug output?', 'debug', /DEBUG_COLORS/],
  [
    'How do I skip installing the CUDA binaries?',
    'onnxruntime-node',
    /onnxruntime-node-install=skip/,
  ],
  ['How do I read a password from a file other than ~/.pgpass?', 'pgpass', /PGPASSFILE/],
  ['How do I decode a buffer in windows-1251 encoding?', 'iconv-lite', /iconv\.decode\(/],
  ['How do I show several progress bars at once?', 'cli-progress', /MultiBar|multibar/],
  ['How do I check if an address is valid CIDR notation?', 'ipaddr.js', /isValidCIDR/],
  ['How do I reopen a log file for log rotation?', 'sonic-boom', /reopen/],
  ['How do I increment a version to a prerelease with semver?', 'semver', /prerelease/],
]

const DEFAULT: readonly Row[] = [
  [
    'What is the default fps of a progress bar?',
    'cli-progress',
    /maximum update rate \(default: 10\)/,
  ],
  ['What is the default value of barsize?', 'cli-progress', /default: 40/],
  ['What is the default of charThreshold?', '@mozilla/readability', /default 500/],
  ['What is the default socket connection timeout of global-agent?', 'global-agent', /60000/],
  ['What is the default of maxRuns in croner?', 'croner', /Infinite/],
  [
    'Is usePolling on by default?',
    'chokidar',
    /usePolling \(default: false\)|default.{0,40}avoids polling/,
  ],
  ['What is the default interval of file system polling?', 'chokidar', /default: 100/],
  ['What is the default compression level of fflate?', 'fflate', /default level is 6/],
  ['What is the default value of maximumDepth?', 'safe-stable-stringify', /Default: Infinity/],
  ['Which maxWrite does sonic-boom use by default?', 'sonic-boom', /16384/],
  ['Does createWriteStream append by default in sonic-boom?', 'sonic-boom', /default true/],
  ['What is the default of caseSensitive in matcher?', 'matcher', /Default: false/],
]

const FACT: readonly Row[] = [
  ['Which Node.js version does chokidar 5 need?', 'chokidar', /v20/],
  ['Which Node.js version does ONNX Runtime work on?', 'onnxruntime-node', /v16/],
  ['Which Node versions does ipaddr.js 2.x support?', 'ipaddr.js', /10\+/],
  ['How large can files be that fflate supports?', 'fflate', /4GB/],
  ['Under which licence is emoji-regex available?', 'emoji-regex', /MIT/],
  ['How big is dequal?', 'dequal', /304|489/],
  ['Which versions of CUDA are supported?', 'onnxruntime-node', /CUDA v12|v11 is no longer/],
  ['When was chokidar made?', 'chokidar', /2012/],
  ['Which Deno version does croner need?', 'croner', /Deno >=2/],
  ['How many dependencies does jose have?', 'jose', /no dependencies|Dependencies: 0/],
  ['How small is micromark?', 'micromark', /14kb/],
  ['Which unit has maxAge?', 'cookie', /in seconds/],
]

const NAME: readonly Row[] = [
  ['Who wrote atomic-sleep?', 'atomic-sleep', /David Mark Clements/],
  ['Who added Typescript definitions to robots-parser?', 'robots-parser', /danhab99/],
  ['Who developed PDFium originally?', '@embedpdf/pdfium', /Foxit/],
  [
    'Which company sponsors safe-stable-stringify?',
    'safe-stable-stringify',
    /MaibornWolff|nearForm/,
  ],
  ['Which stemming languages does snowball-stemmers have?', 'snowball-stemmers', /armenian/],
  ['Who holds the copyright of robots-parser?', 'robots-parser', /Sam Clarke/],
]

const WHY: readonly Row[] = [
  [
    'Why should I not replace one character after another when escaping?',
    'html-escaper',
    /XSS|instead of the expected|anti-pattern|possibly happen/,
  ],
  ['Why does isProbablyReaderable exist?', '@mozilla/readability', /bogging down/],
  [
    'Why should a pool be long-lived?',
    'pg-pool',
    /unbounded|one pool when your app starts|correct place/,
  ],
  ['Why do transports run in a worker thread in pino?', 'pino', /single-threaded/],
  ['Why is the emoji regex exported by a function?', 'emoji-regex', /global flag/],
  ['Why does linkedom not implement all of JSDOM?', 'linkedom', /bloated|100% standard/],
  [
    'Why are prerelease versions excluded from range matching?',
    'semver',
    /breaking changes|not yet fit/,
  ],
  ['Why is boolbase a separate module?', 'boolbase', /modularize/],
  ['Why does chokidar run out of file handles?', 'chokidar', /Exhausted file handles/],
]

function answerable(kind: AnswerableQuestion['kind'], rows: readonly Row[]) {
  return rows.map(([question, document, expected]): AnswerableQuestion => {
    return { kind, question, document, expected }
  })
}

export const ANSWERABLE: readonly AnswerableQuestion[] = [
  ...answerable('what', WHAT),
  ...answerable('how', HOW),
  ...answerable('default', DEFAULT),
  ...answerable('fact', FACT),
  ...answerable('name', NAME),
  ...answerable('why', WHY),
]

const OFF_TOPIC: readonly string[] = [
  'What is the capital of Mongolia?',
  'How long do I boil an egg?',
  'Who painted the Mona Lisa?',
  'What is our parental leave policy?',
  'Which hotel is close to the airport?',
  'How do I train a puppy to sit?',
  'When was the French Revolution?',
  'What are the side effects of ibuprofen?',
  'How much did revenue grow in the third quarter?',
  'Can I return my shoes after 30 days?',
  'Wie hoch ist der Eiffelturm?',
]

const ON_TOPIC: readonly string[] = [
  'How do I install express?',
  'What is the default of the retryCount option of chokidar?',
  'How do I configure webpack loaders?',
  'What does the encryptionKey option of croner do?',
  'How do I connect to MongoDB with mongoose?',
  'Which Redis version does ioredis support?',
  'What is the maximum password length in adm-zip?',
  'How do I draw a pie chart with chart.js?',
  'Who wrote lodash?',
  'What does the colorDepth setting of cli-progress do?',
  'How do I set up OAuth login in Next.js?',
  'What is the default port of fastify?',
]

export const UNANSWERABLE: readonly UnanswerableQuestion[] = [
  ...OFF_TOPIC.map((question) => ({ kind: 'off topic', question }) as const),
  ...ON_TOPIC.map((question) => ({ kind: 'on topic', question }) as const),
]

/** Their answer is a number of rows or a value in a metadata column: `version`, `license`, `size_chars`. */
export const FOR_SQL: readonly TableQuestion[] = [
  { question: 'How many documents are there?', statement: /count\(DISTINCT "?id"?\)/i },
  { question: 'Which packages have the licence MIT?', statement: /"?license"? = 'MIT'/i },
  { question: 'How many packages have the license ISC?', statement: /"?license"? = 'ISC'/i },
  { question: 'What is the average size_chars?', statement: /avg\("?size_chars"?\)/i },
  { question: 'Which is the largest size_chars?', statement: /max\("?size_chars"?\)|ORDER BY/i },
  { question: 'List all documents', statement: /SELECT DISTINCT "?id"?/i },
  { question: 'How many documents are there for each license?', statement: /GROUP BY/i },
  { question: 'Wie viele Dokumente gibt es?', statement: /count\(DISTINCT "?id"?\)/i },
]
