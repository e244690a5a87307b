/** All commands of `eider` with their usage and help. The code of each is loaded when it runs. */
import type { CommandSpec, OptionSpec } from '../command.ts'

const PROJECT: OptionSpec = {
  value: '<project>',
  short: 'p',
  help: 'the project (default: mindsdb); "project.name" names it too',
}
const FILE: OptionSpec = { value: '<file>', short: 'o', help: 'write to a file' }

export const COMMANDS: Readonly<Record<string, CommandSpec>> = {
  serve: {
    summary: 'start the server, as "npm start" does',
    usage: ['serve [--demo] [--no-supervisor] [--help]'],
    words: [0, 0],
    options: {
      demo: { help: 'serve the demo data, and create it first if it is missing' },
      supervisor: { help: 'restart it after a crash (--no-supervisor: exit instead)' },
      version: { help: 'show the version' },
    },
    examples: [
      ['eider serve', 'on http://127.0.0.1:47334, data in ./data'],
      ['EIDER_PORT=8080 EIDER_DATA_DIR=/srv/eider eider serve', 'with settings'],
    ],
    // `eider.ts` starts it without a client; see there.
    load: () => Promise.reject(new Error('serve is started elsewhere')),
  },
  ingest: {
    summary: 'fill a knowledge base with files, folders, pages or rows, and keep it in sync',
    usage: [
      'ingest <kb> <path | glob | url>…',
      'ingest <kb> - --id <id>           from standard input',
      'ingest <kb> --query <select>',
    ],
    words: [1, Number.POSITIVE_INFINITY],
    options: {
      project: PROJECT,
      create: { help: 'make the knowledge base where it is missing (--no-create: fail)' },
      replace: { help: 'send files again that did not change' },
      'remove-vanished': { help: 'remove documents whose files are gone from these paths' },
      watch: { short: 'w', help: 'go on, and follow what changes in the folders, until Ctrl-C' },
      include: { value: '<glob>', isRepeated: true, help: 'only files that fit' },
      exclude: { value: '<glob>', isRepeated: true, help: 'not these' },
      all: { short: 'a', help: 'hidden files, node_modules and formats without text too' },
      base: { value: '<folder>', help: 'what ids begin below (the current folder)' },
      id: { value: '<id>', help: 'of "-": what its document is called' },
      format: {
        value: '<format>',
        help: 'csv, jsonl, markdown, text, pdf …, where the file does not say',
      },
      encoding: { value: '<name>', help: 'of text' },
      delimiter: { value: '<char>', help: 'of CSV; "tab" is one' },
      header: { value: '<true|false>', help: 'whether the first line of CSV holds names' },
      sheet: { value: '<name>', help: 'of a workbook, the only one to read' },
      ocr: { help: 'let the OCR model read scans, without asking (--no-ocr: leave them out)' },
      query: { value: '<select>', help: 'insert the rows of a SELECT' },
      'skip-failed': { help: 'of pages and rows: leave out what cannot be stored, and name it' },
      wait: { help: 'watch the job that reads pages or rows (--no-wait: only start it)' },
      limit: { value: '<pages>', help: 'follow links until this many pages are read' },
      depth: { value: '<links>', help: 'follow links to this depth' },
      'allow-host': { value: '<host>', isRepeated: true, help: 'follow links to this host too' },
    },
    notes: `The id of a document is the path of its file below the current folder. Files whose bytes are stored already are not sent.
A file that fails is named at the end and stops no other; the exit code is 1 then.`,
    examples: [
      ['eider ingest docs ./docs README.md', 'a folder and a file'],
      [`eider ingest docs 'notes/**/*.md' --remove-vanished`, 'a pattern; what is gone goes'],
      ['eider ingest docs ./docs --watch', 'and follow what changes'],
      ['eider ingest site https://example.org --limit 100', 'a web site'],
      ['git log | eider ingest log - --id git-log', 'a pipe'],
      ['eider ingest teas - --format jsonl < teas.jsonl', 'rows, each a document'],
    ],
    load: async () => ({ run: (await import('./ingest-command.ts')).ingestSources }),
  },
  search: {
    summary: 'find the passages of a knowledge base that fit a text best',
    usage: ['search <kb> <words…>'],
    words: [2, Number.POSITIVE_INFINITY],
    options: {
      project: PROJECT,
      k: { value: '<number>', short: 'k', help: 'how many passages (10)' },
      filter: {
        value: '<condition>',
        short: 'f',
        isRepeated: true,
        help: `'price<8', colour=green, 'title~%tea%', or a JSON object; all must hold`,
      },
      hybrid: { help: 'by meaning and keywords together' },
      vector: { help: 'by meaning alone' },
      keyword: { help: 'by keywords alone' },
      'min-relevance': { value: '<0..1>', help: 'leave out what is less relevant' },
      'per-document': { help: 'each document once, with its best passage' },
      rerank: { help: 'use the reranking model of the knowledge base (--no-rerank: do not)' },
    },
    examples: [
      ['eider search docs how do backups work', 'the ten best passages'],
      [`eider search docs backup -k 3 --filter 'file_path~docs/%'`, 'three, of some documents'],
      [`eider search shop.teas 'green tea' --json | jq -r '.results[].id'`, 'for programs'],
    ],
    load: async () => ({ run: (await import('./search-command.ts')).searchPassages }),
  },
  ask: {
    summary: 'ask an agent, and watch the answer come',
    usage: ['ask <agent> <question…>', 'ask <agent> - < question.txt'],
    words: [1, Number.POSITIVE_INFINITY],
    options: {
      project: PROJECT,
      steps: { help: 'show what the agent looks up' },
      citations: { help: 'list where the answer is from (--no-citations: do not)' },
      conversation: {
        value: '<id>',
        help: 'go on with a conversation; new: begin one that the server keeps',
      },
    },
    examples: [
      ['eider ask helper "How do I restore a backup?"', 'the answer, with its sources'],
      ['eider ask helper --conversation new "Who is it for?"', 'and tells the id to go on with'],
      ['eider ask helper --steps "What did we sell in May?"', 'and how it was found'],
    ],
    load: async () => ({ run: (await import('./ask-command.ts')).askAgent }),
  },
  sql: {
    summary: 'run SQL: one statement, a script, or a shell',
    usage: ['sql', 'sql <statement>', 'sql -f <file>', '… | sql'],
    words: [0, 1],
    options: {
      project: PROJECT,
      file: { value: '<file>', short: 'f', help: 'run the statements of a file' },
      csv: { help: 'rows as CSV, with names' },
      ndjson: { help: 'rows as JSON, one object a line' },
      parquet: { help: 'rows as a Parquet file; needs -o, or a pipe' },
      output: FILE,
      expanded: { short: 'x', help: 'each column on a line of its own' },
      param: { value: '<name=value>', isRepeated: true, help: 'the value of :name' },
      timing: { help: 'how long it took (the shell shows it anyway)' },
    },
    notes: `Without a statement, on a terminal, it is a shell: \\? lists what it knows beside SQL.
--json is a list of objects. Rows are written as they come, and a file that is not whole is not kept.`,
    examples: [
      [`eider sql 'SELECT count(*) FROM docs'`, 'a table'],
      [`eider sql --csv -o sales.csv 'SELECT * FROM files.sales'`, 'a file'],
      [`eider sql --param id=7 'SELECT * FROM orders WHERE id = :id'`, 'a bound value'],
      ['eider sql < report.sql', 'several statements, up to the first that fails'],
    ],
    load: () => import('./sql-command.ts'),
  },
  mcp: {
    summary:
      'the Model Context Protocol over standard input and output, for programs that start it',
    usage: ['mcp'],
    words: [0, 0],
    notes:
      'Programs such as Claude Desktop start it: docs/mcp.md says how. It speaks with the server at EIDER_URL, as EIDER_API_KEY.',
    examples: [['claude mcp add eider -- eider mcp', 'for Claude Code']],
    load: () => import('./mcp-command.ts'),
  },
  jobs: {
    summary: 'what the server does in the background: list, watch, cancel, resume',
    usage: ['jobs [list]', 'jobs show | watch | cancel | retry | resume | forget <id>'],
    words: [0, 2],
    options: {
      state: { value: '<state>', help: 'only queued, running, done, failed or cancelled ones' },
      kind: { value: '<kind>', help: 'only insert, sync, schedule or import' },
      project: PROJECT,
      limit: { value: '<number>', help: 'how many (100)' },
      wait: { help: 'after retry and resume: watch it until it is over' },
    },
    notes:
      'watch ends with 1 where the job fails or is cancelled. Ctrl-C ends the watching, not the job.',
    examples: [
      ['eider jobs --state running', 'what runs'],
      ['eider jobs watch 7', 'until it is over'],
      ['eider jobs resume 7 --wait', 'go on after a failure'],
    ],
    load: async () => ({ run: (await import('./server-commands.ts')).jobs }),
  },
  traces: {
    summary: 'what questions to agents did: list them, show one as a tree',
    usage: ['traces [list]', 'traces show [<trace_id>]'],
    words: [0, 2],
    options: {
      agent: { value: '<agent>', help: 'only questions to this agent' },
      project: { value: '<project>', short: 'p', help: 'only of this project' },
      outcome: { value: '<outcome>', help: 'only answered, failed or cancelled ones' },
      q: { value: '<text>', help: 'only questions with this text in them' },
      from: { value: '<time>', help: 'started then or later: 2026-05-01, or with a time (UTC)' },
      to: { value: '<time>', help: 'started before' },
      limit: { value: '<number>', help: 'how many (50)' },
      full: { help: 'of show: whole texts' },
    },
    notes: 'show without an id is the newest question that fits the options.',
    examples: [
      ['eider traces --agent helper --outcome failed', 'what went wrong'],
      ['eider traces show', 'the last question, turn by turn, with times and tokens'],
    ],
    load: () => import('./traces-command.ts'),
  },
  sources: {
    summary: 'the sources that the server syncs a knowledge base from',
    usage: ['sources <kb> [list]', 'sources <kb> add | run | runs | remove <name>'],
    words: [1, 3],
    options: {
      project: PROJECT,
      folder: { value: '<path>', help: 'a folder of the server, below one that it may read' },
      url: { value: '<url>', help: 'one page or file' },
      site: { value: '<url>', help: 'a site, by its links' },
      sitemap: { value: '<url>', help: 'the pages of a sitemap' },
      query: { value: '<select>', help: 'the rows of a SELECT' },
      table: { value: '<db.table>', help: 'the rows of a table' },
      schedule: { value: '<cron>', help: `when it is read again: '0 * * * *'` },
      watch: { short: 'w', help: 'of a folder: read it when something changes' },
      'remove-vanished': { help: 'remove documents that are gone (--no-remove-vanished: keep)' },
      include: { value: '<glob>', isRepeated: true, help: 'only what fits' },
      exclude: { value: '<glob>', isRepeated: true, help: 'not this' },
      limit: { value: '<pages>', help: 'of a site or sitemap' },
      depth: { value: '<links>', help: 'of a site' },
      full: { help: 'run: read what did not change, too' },
      wait: { help: 'run: watch it (--no-wait: only start it)' },
    },
    examples: [
      ['eider sources docs add manual --folder manual --watch', 'a folder that is watched'],
      [
        `eider sources docs add site --sitemap https://example.org/sitemap.xml --schedule '0 3 * * *'`,
        'every night',
      ],
      ['eider sources docs run manual', 'now'],
    ],
    load: async () => ({ run: (await import('./server-commands.ts')).sources }),
  },
  databases: {
    summary: 'databases that SQL reaches: list them, check one, list its tables',
    usage: ['databases [list]', 'databases check | tables <name>'],
    words: [0, 2],
    notes:
      'CREATE DATABASE makes one known. Put it into a file with its password: eider sql -f shop.sql',
    examples: [['eider databases check shop', 'whether it answers: exit code 0 or 1']],
    load: async () => ({ run: (await import('./server-commands.ts')).databases }),
  },
  export: {
    summary: 'a knowledge base with its vectors as a Parquet file',
    usage: ['export <kb> [-o <file>]'],
    words: [1, 1],
    options: {
      project: PROJECT,
      output: { ...FILE, help: 'the file (<kb>.parquet; in a pipe: stdout)' },
    },
    examples: [['eider export docs -o docs.parquet', 'to take it to another machine']],
    load: async () => ({
      run: (await import('./transfer-commands.ts')).exportKnowledgeBase,
    }),
  },
  import: {
    summary: 'make or fill a knowledge base from an export; nothing is embedded',
    usage: ['import <file> [--as <kb>]'],
    words: [1, 1],
    options: { project: PROJECT, as: { value: '<kb>', help: 'its name (that of the file)' } },
    examples: [['EIDER_URL=http://other:47334 eider import docs.parquet', 'on another machine']],
    load: async () => ({
      run: (await import('./transfer-commands.ts')).importKnowledgeBase,
    }),
  },
  status: {
    summary: 'version and state of the server',
    usage: ['status'],
    words: [0, 0],
    examples: [['eider status --json | jq .statements', 'what runs']],
    load: async () => ({ run: (await import('./server-commands.ts')).status }),
  },
  upgrade: {
    summary: 'show whether a newer release is out',
    usage: ['upgrade --check'],
    words: [0, 0],
    options: { check: { help: 'ask the address of the releases; nothing is downloaded' } },
    notes:
      'The address is that of the build, or EIDER_RELEASES_URL. To upgrade, stop the server, replace the file and start it.',
    examples: [['eider upgrade --check', 'the newest version, its file and its checksum']],
    load: async () => ({ run: (await import('./upgrade-command.ts')).upgrade }),
  },
  backup: {
    summary: 'make a backup of everything, while the server runs',
    usage: ['backup'],
    words: [0, 0],
    examples: [['eider backup', 'into EIDER_BACKUP_DIR of the server']],
    load: async () => ({ run: (await import('./server-commands.ts')).backup }),
  },
  backups: {
    summary: 'list the backups, the newest first',
    usage: ['backups'],
    words: [0, 0],
    examples: [['eider backups', 'names, times and sizes']],
    load: async () => ({ run: (await import('./server-commands.ts')).backups }),
  },
  restore: {
    summary: 'make a data folder of the folder of a backup, and check it',
    usage: ['restore <backup> --data <folder> [--key <file>]'],
    words: [1, 1],
    options: {
      data: { value: '<folder>', help: 'the new data folder: empty, or not there yet' },
      key: { value: '<file>', help: 'eider.key, of a backup that was made without' },
    },
    notes: 'It needs no server.',
    examples: [
      [
        'eider restore data/backups/2026-05-01 --data ./restored',
        'then: EIDER_DATA_DIR=./restored eider serve',
      ],
    ],
    load: async () => ({ run: (await import('./folder-commands.ts')).restore }),
  },
  salvage: {
    summary: 'save what can be read of a damaged data folder',
    usage: ['salvage <data folder> --to <folder>'],
    words: [1, 1],
    options: { to: { value: '<folder>', help: 'where to: empty, or not there yet' } },
    notes: 'It needs no server, and leaves the data folder as it is.',
    examples: [['eider salvage ./data --to ./saved', 'rows as Parquet, chunks as JSON lines']],
    load: async () => ({ run: (await import('./folder-commands.ts')).salvage }),
  },
  'accept-loss': {
    summary: 'let a data folder start whose log was lost, with what is left',
    usage: ['accept-loss <data folder>'],
    words: [1, 1],
    notes:
      'It needs no server. Afterwards nothing shows what was lost, so restore a backup instead if you have one.',
    examples: [['eider accept-loss ./data', 'then: eider serve']],
    load: async () => ({ run: (await import('./folder-commands.ts')).acceptLoss }),
  },
}

export const GROUPS: readonly (readonly [title: string, names: readonly string[]])[] = [
  ['Fill', ['ingest', 'sources', 'import', 'export']],
  ['Ask', ['search', 'ask', 'traces', 'sql', 'mcp']],
  ['Server', ['serve', 'status', 'jobs', 'databases', 'backup', 'backups', 'upgrade']],
  ['Data folders, without a server', ['restore', 'salvage', 'accept-loss']],
]
