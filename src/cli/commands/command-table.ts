/** All commands of `eider`, with usage and help. Their code is loaded when they run. */
import type { CommandSpec, OptionSpec } from '../command.ts'

const PROJECT: OptionSpec = {
  value: '<project>',
  short: 'p',
  help: 'the project (default: mindsdb); or write "project.name"',
}
const FILE: OptionSpec = { value: '<file>', short: 'o', help: 'write to a file' }

export const COMMANDS: Readonly<Record<string, CommandSpec>> = {
  serve: {
    summary: 'start the server, like "npm start"',
    usage: ['serve [--demo] [--no-supervisor] [--help]'],
    words: [0, 0],
    options: {
      demo: { help: 'serve the demo data, creating it if it is missing' },
      supervisor: { help: 'restart it after a crash (--no-supervisor: exit instead)' },
      version: { help: 'show the version' },
    },
    examples: [
      ['eider serve', 'on http://127.0.0.1:47334, data in ./data'],
      ['EIDER_PORT=8080 EIDER_DATA_DIR=/srv/eider eider serve', 'with settings'],
    ],
    // `eider.ts` starts this command itself, without a client.
    load: () => Promise.reject(new Error('serve is started elsewhere')),
  },
  ingest: {
    summary: 'load files, folders, web pages or rows into a knowledge base, and keep it in sync',
    usage: [
      'ingest <kb> <path | glob | url>…',
      'ingest <kb> - --id <id>           from standard input',
      'ingest <kb> --query <select>',
    ],
    words: [1, Number.POSITIVE_INFINITY],
    options: {
      project: PROJECT,
      create: { help: 'create the knowledge base if it is missing (--no-create: fail instead)' },
      replace: { help: 'send all files, even unchanged ones' },
      'remove-vanished': { help: 'remove documents whose files no longer exist in these paths' },
      watch: { short: 'w', help: 'keep running and follow changes in the folders until Ctrl-C' },
      include: { value: '<glob>', isRepeated: true, help: 'only matching files' },
      exclude: { value: '<glob>', isRepeated: true, help: 'leave out matching files' },
      all: { short: 'a', help: 'also hidden files, node_modules and formats without text' },
      base: {
        value: '<folder>',
        help: 'the folder that ids are relative to (default: the current folder)',
      },
      id: { value: '<id>', help: 'id of the document read from standard input' },
      format: {
        value: '<format>',
        help: 'csv, jsonl, markdown, text, pdf …, if not detected',
      },
      encoding: { value: '<name>', help: 'text encoding' },
      delimiter: { value: '<char>', help: 'CSV delimiter, such as ";" or "tab"' },
      header: { value: '<true|false>', help: 'whether the first line of CSV has column names' },
      sheet: { value: '<name>', help: 'the only sheet of a workbook to read' },
      ocr: { help: 'let the OCR model read scans (--no-ocr: leave them out)' },
      query: { value: '<select>', help: 'insert the rows of a SELECT' },
      'skip-failed': { help: 'skip and list pages and rows that cannot be stored' },
      wait: { help: 'follow the job that reads pages or rows (--no-wait: only start it)' },
      limit: { value: '<pages>', help: 'follow links until this many pages have been read' },
      depth: { value: '<links>', help: 'follow links to this depth' },
      'allow-host': { value: '<host>', isRepeated: true, help: 'also follow links to this host' },
    },
    notes: `A document's id is its file's path below the current folder. Unchanged files are not sent again.
If a file fails, the others continue; failed files are listed at the end, and the exit code is 1.`,
    examples: [
      ['eider ingest docs ./docs README.md', 'a folder and a file'],
      [
        `eider ingest docs 'notes/**/*.md' --remove-vanished`,
        'a pattern; also remove documents of deleted files',
      ],
      ['eider ingest docs ./docs --watch', 'follow changes'],
      ['eider ingest site https://example.org --limit 100', 'a website'],
      ['git log | eider ingest log - --id git-log', 'a pipe'],
      ['eider ingest teas - --format jsonl < teas.jsonl', 'rows, one document each'],
    ],
    load: async () => ({ run: (await import('./ingest-command.ts')).ingestSources }),
  },
  search: {
    summary: 'find the passages of a knowledge base that best match a text',
    usage: ['search <kb> <words…>'],
    words: [2, Number.POSITIVE_INFINITY],
    options: {
      project: PROJECT,
      k: { value: '<number>', short: 'k', help: 'number of passages (10)' },
      filter: {
        value: '<condition>',
        short: 'f',
        isRepeated: true,
        help: `'price<8', colour=green, 'title~%tea%', or a JSON object; results must match all`,
      },
      hybrid: { help: 'search by meaning and keywords' },
      vector: { help: 'search by meaning only' },
      keyword: { help: 'search by keywords only' },
      'min-relevance': { value: '<0..1>', help: 'leave out less relevant passages' },
      'per-document': { help: 'each document once, with its best passage' },
      rerank: { help: "use the knowledge base's reranking model (--no-rerank: do not)" },
    },
    examples: [
      ['eider search docs how do backups work', 'the ten best passages'],
      [`eider search docs backup -k 3 --filter 'file_path~docs/%'`, 'three, from some documents'],
      [`eider search shop.teas 'green tea' --json | jq -r '.results[].id'`, 'for programs'],
    ],
    load: async () => ({ run: (await import('./search-command.ts')).searchPassages }),
  },
  ask: {
    summary: 'ask an agent and print the answer as it arrives',
    usage: ['ask <agent> <question…>', 'ask <agent> - < question.txt'],
    words: [1, Number.POSITIVE_INFINITY],
    options: {
      project: PROJECT,
      steps: { help: "show the agent's steps" },
      citations: { help: "list the answer's sources (--no-citations: do not)" },
      conversation: {
        value: '<id>',
        help: 'continue a conversation; "new" starts one that the server stores',
      },
    },
    examples: [
      ['eider ask helper "How do I restore a backup?"', 'the answer with its sources'],
      [
        'eider ask helper --conversation new "Who is it for?"',
        'also print the id to continue with',
      ],
      ['eider ask helper --steps "What did we sell in May?"', 'also show how the agent found it'],
    ],
    load: async () => ({ run: (await import('./ask-command.ts')).askAgent }),
  },
  sql: {
    summary: 'run a SQL statement, a script, or a shell',
    usage: ['sql', 'sql <statement>', 'sql -f <file>', 'sql < <file>'],
    words: [0, 1],
    options: {
      project: PROJECT,
      file: { value: '<file>', short: 'f', help: 'run the statements of a file' },
      csv: { help: 'rows as CSV with a header' },
      ndjson: { help: 'rows as JSON lines' },
      parquet: { help: 'rows as a Parquet file; needs -o or a pipe' },
      output: FILE,
      expanded: { short: 'x', help: 'one line per column' },
      param: { value: '<name=value>', isRepeated: true, help: 'value for :name' },
      timing: { help: 'show the time taken (the shell always does)' },
    },
    notes: `Without a statement, on a terminal, this starts a shell with a history.
--json prints a list of objects for each statement. Rows are written as they arrive; an incomplete file is deleted.`,
    examples: [
      [`eider sql 'SELECT count(*) FROM docs'`, 'a table'],
      [`eider sql --csv -o sales.csv 'SELECT * FROM files.sales'`, 'a file'],
      [`eider sql --param id=7 'SELECT * FROM orders WHERE id = :id'`, 'a bound value'],
      ['eider sql < report.sql', 'several statements, up to the first failure'],
    ],
    load: () => import('./sql-command.ts'),
  },
  mcp: {
    summary: 'run an MCP server on standard input and output, for programs that start one',
    usage: ['mcp'],
    words: [0, 0],
    notes:
      'Programs such as Claude Desktop start this; see docs/mcp.md. It talks to the server at EIDER_URL with EIDER_API_KEY.',
    examples: [['claude mcp add eider -- eider mcp', 'for Claude Code']],
    load: () => import('./mcp-command.ts'),
  },
  jobs: {
    summary: 'list, watch, cancel or resume background jobs',
    usage: ['jobs [list]', 'jobs show | watch | cancel | retry | resume | forget <id>'],
    words: [0, 2],
    options: {
      state: { value: '<state>', help: 'only queued, running, done, failed or cancelled ones' },
      kind: { value: '<kind>', help: 'only insert, sync, schedule or import' },
      project: PROJECT,
      limit: { value: '<number>', help: 'maximum number (100)' },
      wait: { help: 'after retry and resume: follow the job until it ends' },
    },
    notes:
      '"watch" exits with 1 if the job fails or is cancelled. Ctrl-C stops watching, but not the job.',
    examples: [
      ['eider jobs --state running', 'running jobs'],
      ['eider jobs watch 7', 'follow a job until it ends'],
      ['eider jobs resume 7 --wait', 'continue after a failure'],
    ],
    load: async () => ({ run: (await import('./server-commands.ts')).jobs }),
  },
  export: {
    summary: 'export a knowledge base with its vectors as a Parquet file',
    usage: ['export <kb> [-o <file>]'],
    words: [1, 1],
    options: {
      project: PROJECT,
      output: { ...FILE, help: 'the file (default: <kb>.parquet, or stdout in a pipe)' },
    },
    examples: [['eider export docs -o docs.parquet', 'to move it to another machine']],
    load: async () => ({
      run: (await import('./transfer-commands.ts')).exportKnowledgeBase,
    }),
  },
  import: {
    summary: 'import an exported knowledge base without embedding it again',
    usage: ['import <file> [--as <kb>]'],
    words: [1, 1],
    options: {
      project: PROJECT,
      as: { value: '<kb>', help: "its name (default: the file's name)" },
    },
    examples: [['EIDER_URL=http://other:47334 eider import docs.parquet', 'on another machine']],
    load: async () => ({
      run: (await import('./transfer-commands.ts')).importKnowledgeBase,
    }),
  },
  status: {
    summary: "show the server's version and state",
    usage: ['status'],
    words: [0, 0],
    examples: [['eider status --json | jq .statements', 'running statements']],
    load: async () => ({ run: (await import('./server-commands.ts')).status }),
  },
  backup: {
    summary: 'back up everything while the server runs',
    usage: ['backup'],
    words: [0, 0],
    examples: [['eider backup', "into the server's EIDER_BACKUP_DIR"]],
    load: async () => ({ run: (await import('./server-commands.ts')).backup }),
  },
  backups: {
    summary: 'list the backups, newest first',
    usage: ['backups'],
    words: [0, 0],
    examples: [['eider backups', 'names, times and sizes']],
    load: async () => ({ run: (await import('./server-commands.ts')).backups }),
  },
  upgrade: {
    summary: 'show whether there is a newer release',
    usage: ['upgrade --check'],
    words: [0, 0],
    options: { check: { help: 'look for a newer release without downloading it' } },
    notes:
      'It looks at the URL set in the build, or at EIDER_RELEASES_URL. To upgrade, stop the server, replace the file and start it again.',
    examples: [['eider upgrade --check', 'the newest version with its file and checksum']],
    load: async () => ({ run: (await import('./upgrade-command.ts')).upgrade }),
  },
  restore: {
    summary: 'restore a backup into a new data folder, and check it',
    usage: ['restore <backup> --data <folder> [--key <file>]'],
    words: [1, 1],
    options: {
      data: { value: '<folder>', help: 'the new data folder; must be empty or missing' },
      key: { value: '<file>', help: 'eider.key, for a backup without keys' },
    },
    notes: 'This needs no server.',
    examples: [
      [
        'eider restore data/backups/2026-05-01 --data ./restored',
        'then: EIDER_DATA_DIR=./restored eider serve',
      ],
    ],
    load: async () => ({ run: (await import('./folder-commands.ts')).restore }),
  },
  salvage: {
    summary: 'save everything readable from a damaged data folder',
    usage: ['salvage <data folder> --to <folder>'],
    words: [1, 1],
    options: { to: { value: '<folder>', help: 'the target folder; must be empty or missing' } },
    notes: 'This needs no server and does not change the data folder.',
    examples: [['eider salvage ./data --to ./saved', 'rows as Parquet, chunks as JSON lines']],
    load: async () => ({ run: (await import('./folder-commands.ts')).salvage }),
  },
  'accept-loss': {
    summary: 'start a data folder whose log was lost, with the data that is left',
    usage: ['accept-loss <data folder>'],
    words: [1, 1],
    notes:
      'This needs no server. Afterwards you cannot see what was lost, so restore a backup instead if you have one.',
    examples: [['eider accept-loss ./data', 'then: eider serve']],
    load: async () => ({ run: (await import('./folder-commands.ts')).acceptLoss }),
  },
}

export const GROUPS: readonly (readonly [title: string, names: readonly string[]])[] = [
  ['Load data', ['ingest', 'import', 'export']],
  ['Search and ask', ['search', 'ask', 'sql', 'mcp']],
  ['Server', ['serve', 'status', 'jobs', 'backup', 'backups', 'upgrade']],
  ['Data folders, without a server', ['restore', 'salvage', 'accept-loss']],
]
