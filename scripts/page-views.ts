/** Every view of the page by its address, and something to show in it: for screenshots, and for the test that opens them all. */
import { addressOf } from '../src/ui/shell/addresses.ts'
import { type EiderClient, eiderClient } from './eider-client.ts'

export interface ShownView {
  readonly name: string
  readonly address: string
}

const PROJECT = 'mindsdb'
/** As hostile as a name may be. */
const HOSTILE_NAME = '<img src=x onerror=alert(1)> \u202Eשלום'
const LONG_WORD = 'Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz'.repeat(4)

/** Views of a server that holds nothing yet, beside one empty knowledge base and an agent that nobody asked. */
export async function emptyViews(baseUrl: string): Promise<readonly ShownView[]> {
  const client = eiderClient(baseUrl)
  await create(client, 'empty')
  return [...COMMON, ...viewsOfKnowledgeBase('empty'), ...viewsOfAgent('empty_agent')]
}

/** Views of a server with documents of some kinds, a name that is hostile, and an agent that was asked. */
export async function fullViews(
  baseUrl: string,
  documents: readonly SampleDocument[] = sampleDocuments(),
): Promise<readonly ShownView[]> {
  const client = eiderClient(baseUrl)
  await create(client, 'teas')
  await create(client, HOSTILE_NAME)
  const rows = `/projects/${PROJECT}/knowledge_bases/teas`
  await client.request('PUT', rows, { knowledge_base: { rows: documents } })
  await client.request('POST', `/projects/${PROJECT}/views`, {
    view: { name: 'cheap_teas', query: 'SELECT id, chunk_content FROM teas WHERE price < 6' },
  })
  let trace = ''
  const agent = `/projects/${PROJECT}/agents/teas_agent`
  for await (const event of client.ask(agent, 'Which tea has no caffeine?')) {
    if (event.kind === 'start') trace = event.traceId
  }
  return [
    ...COMMON,
    ...viewsOfKnowledgeBase('teas'),
    ...viewsOfKnowledgeBase(HOSTILE_NAME).slice(0, 1),
    { name: 'document', address: addressOf.document(PROJECT, 'teas', 'rooibos') },
    { name: 'document-hostile', address: addressOf.document(PROJECT, 'teas', '<b>x</b> & "y"') },
    { name: 'search-found', address: `${addressOf.searchLab(PROJECT, 'teas')}?q=evening%20tea` },
    ...viewsOfAgent('teas_agent'),
    { name: 'trace', address: addressOf.trace(trace) },
  ]
}

async function create(client: EiderClient, name: string): Promise<void> {
  const of = `/projects/${PROJECT}`
  await client.request('POST', `${of}/knowledge_bases`, { knowledge_base: { name } })
  const data = { knowledge_bases: [`${PROJECT}.${name}`] }
  await client.request('POST', `${of}/agents`, { agent: { name: `${name}_agent`, data } })
}

const COMMON: readonly ShownView[] = [
  { name: 'home', address: '/' },
  { name: 'new-knowledge-base', address: addressOf.newKnowledgeBase() },
  { name: 'new-agent', address: addressOf.newAgent() },
  { name: 'sql', address: '/sql' },
  { name: 'compare', address: '/compare' },
  { name: 'operations', address: '/operations' },
  ...['jobs', 'running', 'requests', 'backups', 'access', 'settings'].map((part) => {
    return { name: `operations-${part}`, address: `/operations/${part}` }
  }),
  { name: 'not-found', address: '/projects/none' },
]

function viewsOfKnowledgeBase(name: string): readonly ShownView[] {
  return [
    { name: 'documents', address: addressOf.knowledgeBase(PROJECT, name) },
    { name: 'add', address: addressOf.addDocuments(PROJECT, name) },
    { name: 'search', address: addressOf.searchLab(PROJECT, name) },
    { name: 'map', address: addressOf.map(PROJECT, name) },
    { name: 'settings', address: addressOf.knowledgeBaseSettings(PROJECT, name) },
  ]
}

function viewsOfAgent(name: string): readonly ShownView[] {
  return [
    { name: 'agent', address: addressOf.agent(PROJECT, name) },
    { name: 'agent-settings', address: addressOf.agentSettings(PROJECT, name) },
    { name: 'traces', address: addressOf.agentTraces(PROJECT, name) },
  ]
}

export interface SampleDocument {
  readonly id: string
  readonly content: string
  readonly [column: string]: unknown
}

function sampleDocuments(): readonly SampleDocument[] {
  const plain = TEAS.map(([id, content], index) => {
    const day = String(index + 1).padStart(2, '0')
    return { id, content, price: index + 3, kind: KINDS[index % 3], picked: `2026-03-${day}` }
  })
  return [
    ...plain,
    { id: '<b>x</b> & "y"', content: `<script>alert(1)</script> ${LONG_WORD}`, kind: LONG_WORD },
    { id: 'rtl', content: 'תה ירוק יפני \u202Ewith a turn\u0007', kind: 'ירוק' },
  ]
}

const KINDS = ['green', 'black', 'herbal']
const TEAS = [
  ['sencha', 'Sencha is a Japanese green tea with a grassy taste.'],
  ['assam', 'Assam is a strong black tea from India, often drunk with milk.'],
  ['rooibos', 'Rooibos is a red herbal infusion from South Africa without caffeine.'],
  ['matcha', 'Matcha is ground green tea, whisked into hot water.'],
  ['darjeeling', 'Darjeeling is a light black tea from the foot of the Himalayas.'],
  ['chamomile', 'Chamomile is an infusion for the evening, mild and without caffeine.'],
  ['gyokuro', 'Gyokuro is shaded for three weeks before it is picked.'],
  ['ceylon', 'Ceylon is a black tea from Sri Lanka, good with lemon.'],
  ['mint', 'Peppermint is an infusion that is drunk hot or cold.'],
] as const
