/** Which passage the built-in model quotes: definitions, options, files and dates. */
import { expect, test } from 'bun:test'
import { rowAnswer } from '../../src/models/builtin/chat/row-questions.ts'
import { asked, played, rows, rowsOf } from './fixtures/chat-support.ts'

test('a question of what something is gets its definition, not the passage that mentions it most', async () => {
  const { answer } = await played({
    messages: asked('What is Rsyncer?'),
    listed: '["mindsdb.docs"]',
    observe: () => {
      return rows(
        [
          'd:content:2of2:0to80',
          'Rsyncer is distributed under the MIT license. Install Rsyncer from its page.',
          0.8,
        ],
        [
          'd:content:1of2:0to60',
          'NAME\n\nRsyncer - a fast tool which copies files to far places',
          0.7,
        ],
      )
    },
  })
  const [first] = answer.split('[d:')
  expect(first).toContain('a fast tool which copies files')
})

test('a question may name a file by its name, its folder or its title', async () => {
  const other = rowsOf('signals.md', [
    'signals.md:content:9of9:0to33',
    'Available under the licence MIT.',
    0.8,
  ])
  for (const id of ['entities.md', 'packages/entities/README.md', '7']) {
    const heading = id === '7' ? 'Entities > Terms' : 'Terms'
    const own = `${id},${id}:content:6of6:0to29,Available under the licence BSD-2-Clause.,0.4,0.7,${heading}\r\n`
    const { answer, sql } = await played({
      messages: asked('Under which licence is entities available?'),
      listed: '["mindsdb.docs"]',
      observe: () =>
        other.replace('relevance,distance\r\n', 'relevance,distance,heading\r\n') + own,
    })
    expect(sql.at(-1)).toContain(`id IN ('${id}')`)
    expect([id, answer.split('[')[0]]).toEqual([id, expect.stringContaining('BSD-2-Clause')])
  }
})

test('a file that the question names is searched, although others fit as well', async () => {
  const { answer, sql } = await played({
    messages: asked('What is the total of invoice_2024-03.pdf?'),
    listed: '["mindsdb.docs"]',
    observe: (statement) => {
      if (!statement.includes("id LIKE '%invoice_2024-03.pdf%'"))
        return rowsOf('invoice_2024-02.pdf', [
          'invoice_2024-02.pdf:content:1of1:0to22',
          'The total is 90 euros.',
          0.6,
        ])
      return rowsOf('in/invoice_2024-03.pdf', [
        'in/invoice_2024-03.pdf:content:1of1:0to22',
        'The total is 75 euros.',
        0.5,
      ])
    },
  })
  expect(sql.length).toBeGreaterThan(1)
  expect(answer.split('[')[0]).toContain('75 euros')
})

test('a short option is searched by how manuals write it, and explained by its own entry', async () => {
  const prose =
    'Of grepper: the grepper tool does lines. What it does is told by grepper -v itself.'
  const entry = 'OPTIONS\n       -v, --invert\n              Select the lines that do not fit.'
  const { answer, sql } = await played({
    messages: asked('What does grepper -v do?'),
    listed: '["mindsdb.docs"]',
    observe: (statement) => {
      if (!statement.includes('LIKE')) return rows(['d:content:1of9:0to80', prose, 0.8])
      return rows(['d:content:7of9:0to70', entry, 0.6])
    },
  })
  expect(sql.some((one) => one.includes("chunk_content LIKE '%  -v,%'"))).toBe(true)
  expect(answer.split('[d:')[0]).toContain('Select the lines that do not fit.')
})

test.each(['-i', '--ignore-case'])(
  'the entry of %s needs no other word of the question',
  async (option) => {
    const prose = 'The grepper tool reads its input as lines. It does so for each file of a folder.'
    const entry =
      'OPTIONS\n\t-i, --ignore-case\n\t\tUpper and lower case count as equal.\n\n\t-I\n\t\tBinary files are left out.'
    const { answer } = await played({
      messages: asked(`What does ${option} do in grepper?`),
      listed: '["mindsdb.docs"]',
      observe: (statement) => {
        if (!statement.includes('LIKE')) return rows(['d:content:1of9:0to80', prose, 0.8])
        return rows(['d:content:7of9:0to99', entry, 0.6])
      },
    })
    const [first] = answer.split('[d:')
    expect(first).toContain('> **-i, --ignore-case\n> Upper and lower case count as equal.**')
  },
)

test('of a long entry, the sentence with the name of the option is quoted', async () => {
  const rest = 'Each name in the list is kept as it is, and nothing in it is taken as a mark. '
  const entry = `OPTIONS\n       -0, --null\n              Names end with a null character. ${rest.repeat(5)}The grepper tool does that too.`
  const answer = await answerFrom(entry, 'What does -0 do in grepper?')
  expect(answer).toContain('-0, --null\n> Names end with a null character.**')
})

test('the name of an option that is quoted with it is not shown twice', async () => {
  const about = 'Nobody waits for pages which do not end since someone moved them to and fro. '
  const entry = `OPTIONS\n       --max-hops <number>\n              Sets a limit. Fifty redirects in a loop are the default. ${about.repeat(5)}`
  const answer = await answerFrom(entry, 'How many redirects in a loop are the default?')
  expect(answer).toContain('**Fifty redirects in a loop are the default.**')
  expect(answer.match(/--max-hops <number>/g)).toHaveLength(1)
})

async function answerFrom(text: string, question: string): Promise<string> {
  const observe = () => rows(['d:content:1of9:0to80', text, 0.8])
  return (await played({ messages: asked(question), listed: '["mindsdb.docs"]', observe })).answer
}

test.each([
  [
    'What is the default of SHOP_QUERY_MS?',
    '| variable | default | meaning |\n|---|---|---|\n| `SHOP_LOG_MS` | info | The query default of the shop is the default of what a query is. |\n| `SHOP_QUERY_MS` | 60000 | Time limit |',
    '60000 | Time limit',
  ],
  [
    'What does error code too_busy mean?',
    'While it is busy, an error means a code such as `shop_busy`. What that error code means is told there.\n\n| code | title |\n|---|---|\n| `too_busy` | Wait a little |',
    '`too_busy` | Wait a little',
  ],
  [
    'What does paths do in watcher?',
    'A watcher does what its paths do: `watcher.watch(paths)`.\n\n```js\npaths: what the watcher does\n```\n\n- `paths` (a list): files, folders or patterns.',
    'files, folders or patterns.',
  ],
])(
  'a setting that a question names is explained by its own row or item: %s',
  async (question, text, right) => {
    const [first] = (await answerFrom(text, question)).split('[d:')
    expect(first).toContain(right)
  },
)

test('a name is quoted with the default in its parentheses', async () => {
  const about = 'Nobody waits for pages which do not end since someone moved them to and fro. '
  const entry = `- \`atomic\` (default: \`true\`).\n  Leaves out what editors write. ${about.repeat(5)}The delay is fifty seconds.`
  expect(await answerFrom(entry, 'How long is the delay?')).toContain('`atomic` (default: `true`)')
})

test('how to do something is shown by the code below its heading', async () => {
  const text =
    '## Make a backup\n\n```\nshop backup\n```\n\nThe first command makes a backup and prints the name of the backup that it makes.'
  const [first] = (await answerFrom(text, 'How do I make a backup?')).split('[d:')
  expect(first).toContain('shop backup')
})

test('what something does in a case is not answered by any sentence about it', async () => {
  const text = 'Hop does a lot for shops.\n\nIf the disk is full, it refuses writes.'
  const answer = await answerFrom(text, 'What does Hop do if the disk is full?')
  expect(answer).toContain('**If the disk is full, it refuses writes.**')
})

test('a setting is explained by the sentence below its heading and its type', async () => {
  const text = '## hop-prefix\n\n* Default: "^"\n* Type: String\n\nPut before each version.'
  const answer = await answerFrom(text, 'What does hop-prefix do?')
  expect(answer).toContain('**Put before each version.**')
})

test('a file that the question names is quoted, although similar ones fit as well', async () => {
  const list = (document: string, items: string, relevance: number) => {
    return rowsOf(document, [
      `${document}:content:1of1:0to60`,
      `## Contents\n\n${items}`,
      relevance,
    ])
  }
  const other = list('util-chars/README.md', '- Use of util chars\n- Contents of the util', 0.8)
  const own = list('util-symbol/README.md', '- When to use it\n- Types', 0.4)
  const { answer } = await played({
    messages: asked('What are the contents of util-symbol?'),
    listed: '["mindsdb.docs"]',
    observe: () => other + own.slice(own.indexOf('\n') + 1),
  })
  expect(answer).toContain('When to use it')
})

test('a year next to a mark is a date', async () => {
  const first = 'Then Montpellier fell to the royal army and its guns.'
  const text = `${first} Montpellier fell to the army in 1622.`
  const answer = await answerFrom(text, 'When did Montpellier fall to the royal army?')
  expect(answer).toContain('**Montpellier fell to the army in 1622.**')
})

test('a German ordinal does not end a sentence', async () => {
  const text = 'Bis zum 31. März ist der Urlaub des letzten Jahres zu nehmen.'
  const answer = await answerFrom(`${text} Es sind fünf Tage.`, 'Bis wann ist Urlaub zu nehmen?')
  expect(answer).toContain(`**${text}**`)
})

test('without the date that it asks for, a passage is only the closest', async () => {
  const question = 'When was Rooibos exported to Europe?'
  const text = 'Rooibos was exported to Europe in'
  expect(await answerFrom(`${text} 1904.`, question)).toContain('This is what I found')
  expect(await answerFrom(`${text} crates.`, question)).toContain('The closest passage is')
})

test('a passage about many things is only the closest, but not irrelevant', async () => {
  const text = `# Handbook\n\n## Hours\n\nThe ovens are lit at 4 a.m.\n\n## Sick leave\n\nCall the shop if you are ill. From the third day on we need a doctor's note.\n\n## Pay\n\nWages are paid on the 25th.`
  const answerTo = async (question: string) => {
    const observe = () => rows(['d:content:1of1:0to300', text, 0.22])
    return (await played({ messages: asked(question), listed: '["mindsdb.docs"]', observe })).answer
  }
  const close = await answerTo("Do I need a doctor's note on the second day?")
  expect(close).toContain('The closest passage is')
  expect(close).toContain("**From the third day on we need a doctor's note.**")
  expect(await answerTo('Is there a gym in the hotel?')).toContain('I found nothing relevant')
})

const ORDERS = ['3', '54', '375'].map((id, at) => {
  const text = `order_id: ${id}, customer: Dupont, amount: ${['262.25', '111.3', '95.30'][at]}`
  return [`${id}:content:1of1:0to50`, text, 0.3 + at / 10] as const
})
const [THIRD, ...OTHER_ORDERS] = ORDERS

test.each([
  "What is order 3's amount?",
  'What is the amount of order no. 3?',
  'What is the amount of order #3?',
])('only the passage about the number that it names is quoted: %s', async (question) => {
  const { answer, sql } = await played({
    messages: asked(question),
    listed: '["mindsdb.docs"]',
    observe: (one) => {
      return one.includes('regexp_matches') ? rows(THIRD ?? ['', '', 0]) : rows(...OTHER_ORDERS)
    },
  })
  expect(sql.some((one) => one.includes('regexp_matches'))).toBe(true)
  expect(answer).toContain('order_id: 3, ')
  expect(answer).not.toContain('[54:')
})

test.each(['And order 54?', 'And of order 54?', 'What about 54?', 'And number 54?'])(
  'a number in a follow-up replaces the one before: %s',
  async (question) => {
    const { sql } = await played({
      messages: [
        ...asked("What is order 3's amount?"),
        { role: 'assistant', content: 'order_id: 3, amount: 262.25', toolCalls: [] },
        { role: 'user', content: question },
      ],
      listed: '["mindsdb.docs"]',
      observe: () => rows(...ORDERS),
    })
    expect(sql[0]).toContain("order 54''s amount")
  },
)

test('a year in a follow-up leaves the number of a thing', async () => {
  const { sql } = await played({
    messages: [
      ...asked("What was order 3's amount?"),
      { role: 'assistant', content: 'order_id: 3, amount: 262.25', toolCalls: [] },
      { role: 'user', content: 'And in 2024?' },
    ],
    listed: '["mindsdb.docs"]',
    observe: () => rows(...ORDERS),
  })
  expect(sql[0]).toContain("order 3''s amount")
})

test('a number in another place does not name the thing', async () => {
  const others = OTHER_ORDERS.map(([id, text, relevance]) => {
    return [id, `${text}, pieces: 3`, relevance] as const
  })
  const { answer } = await played({
    messages: asked('What is the amount of order 3?'),
    listed: '["mindsdb.docs"]',
    observe: () => rows(...(THIRD === undefined ? [] : [THIRD]), ...others),
  })
  expect(answer).toContain('> **order_id: 3, ')
})

test('passages about other numbers are only the closest', async () => {
  const { answer } = await played({
    messages: asked('What is the amount of order 3?'),
    listed: '["mindsdb.docs"]',
    observe: () => rows(...OTHER_ORDERS),
  })
  expect(answer).not.toContain('This is what I found')
})

test('a number that names nothing is not searched for', async () => {
  const { sql } = await played({
    messages: asked('Who had 3 ships in May 5 or in 1966?'),
    listed: '["mindsdb.docs"]',
    observe: () => rows(...OTHER_ORDERS),
  })
  expect(sql).toHaveLength(1)
})

test('a number is not part of the id of a document', () => {
  const columns = [
    { name: 'order_id', type: 'BIGINT' },
    { name: 'date', type: 'DATE' },
  ]
  const source = { name: 'mindsdb.orders', isTable: false, columns }
  expect(rowAnswer('What is the date of order 4?', [source])).toBeNull()
  expect(rowAnswer('What is the date of kettle?', [source])?.statement).toContain('%kettle%')
})

test('a word before the name of a column is a condition that no count leaves out', () => {
  const columns = [
    { name: 'Customer', type: 'VARCHAR' },
    { name: 'license', type: 'VARCHAR' },
  ]
  const answerTo = (question: string) => {
    return rowAnswer(question, [{ name: 'mindsdb.shop', isTable: false, columns }])
  }
  expect(answerTo('How many new customers were there?')).toBeNull()
  expect(answerTo('How many customers can there be?')).toBeNull()
  expect(answerTo('How many different customers are there?')?.statement).toContain('"Customer"')
  expect(answerTo('How many packages have the license MIT?')?.statement).toContain("= 'MIT'")
})

test('how to do something is answered by the numbered steps below its title', async () => {
  const recipe =
    '# Sourdough bread\n\nMakes two loaves.\n\n## Method\n\n1. Mix flour and water.\n2. Add starter and salt.\n3. Bake for 45 minutes.'
  const { answer } = await played({
    messages: asked('How do I make sourdough bread?'),
    listed: '["mindsdb.docs"]',
    observe: () => rows([`d:content:1of1:0to${recipe.length}`, recipe, 0.8]),
  })
  expect(answer).toContain('2. Add starter and salt.')
})

test('text before the commands of a root shell is not code', async () => {
  const text =
    'To build a package (of Debian), install what it needs.\n\n```\n# apt-get build-dep foo\n# apt-get source --build foo\n```\n\nThe kernel needs more.'
  const answer = await answerFrom(text, 'What do I install to build a package of Debian?')
  expect(answer).toContain('**To build a package (of Debian), install what it needs.**')
})

test('a heading with a number names what the question asks for', async () => {
  const keys =
    '# 6. Keys\n\n- two keys that you get for the front door\n- one for the mailbox\n- one for the yard gate'
  const { answer } = await played({
    messages: asked('Which keys do I get?'),
    listed: '["mindsdb.docs"]',
    observe: () => rows([`d:content:1of1:0to${keys.length}`, keys, 0.8]),
  })
  expect(answer).toContain('- one for the mailbox')
})

test('the further searches of a question come after those of all knowledge bases', async () => {
  const { sql } = await played({
    messages: asked('What is the amount of order 3?'),
    listed: '["mindsdb.a", "mindsdb.b"]',
    observe: () => rows(...ORDERS),
  })
  expect(sql.map((one) => one.includes('regexp_matches'))).toEqual([false, false, true, true])
})

test('if nothing mentions a name of the question, a passage is only the closest', async () => {
  const text = 'Eider reads tables of PostgreSQL and MySQL databases, and Russian ones too.'
  const answer = await answerFrom(text, 'Does Eider read tables of Oracle databases?')
  expect(answer).toContain('no passage found mentions Oracle. The closest passage is')
  const short = await answerFrom('Anna Schmidt is the head of finance.', 'Who is Peter Miller?')
  expect(short).toContain('no passage found mentions Peter Miller')
  for (const known of [
    'Does Eider read tables of MySQL databases in Russia?',
    'Does Eider Read the Tables Of Oracle Databases?',
    'Hello Claude, does Eider read tables of MySQL databases?',
  ]) {
    expect(await answerFrom(text, known)).toContain('This is what I found')
  }
  const accents = await answerFrom(
    'Many chestnuts grow in the Cévennes.',
    'What grows in the Cevennes?',
  )
  expect(accents).toContain('This is what I found')
})
