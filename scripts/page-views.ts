/** Every view of the page by its address, with something to show in it, for screenshots and for the test that opens them all. */
import { addressOf } from '../src/ui/shell/addresses.ts'
import { type EiderClient, eiderClient } from './eider-client.ts'

export interface ShownView {
  readonly name: string
  readonly address: string
}

const PROJECT = 'mindsdb'
/** A name with everything that could break a page. */
const HOSTILE_NAME = '<img src=x onerror=alert(1)> \u202Eשלום "q" %2F&?#'
const LONG_WORD = 'Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz'.repeat(4)

/** Returns views of a server without data, but with an empty knowledge base and an agent. */
export async function emptyViews(baseUrl: string): Promise<readonly ShownView[]> {
  const client = eiderClient(baseUrl)
  const empty = { project: PROJECT, name: 'empty' }
  await create(client, empty)
  return [...COMMON, ...viewsOfKnowledgeBase(empty), ...viewsOfAgent(empty)]
}

/** Returns views of a server with several documents, a hostile name, and an agent that was asked. */
export async function fullViews(
  baseUrl: string,
  documents: readonly SampleDocument[] = sampleDocuments(),
): Promise<readonly ShownView[]> {
  const client = eiderClient(baseUrl)
  const teas = { project: PROJECT, name: 'teas' }
  await create(client, teas, documents)
  await client.request('POST', `/projects/${PROJECT}/views`, {
    view: { name: 'cheap_teas', query: 'SELECT id, chunk_content FROM teas WHERE price < 6' },
  })
  const trace = await asked(client, teas)
  return [
    ...COMMON,
    ...viewsOfKnowledgeBase(teas),
    { name: 'document', address: addressOf.document(PROJECT, 'teas', 'rooibos') },
    { name: 'document-hostile', address: addressOf.document(PROJECT, 'teas', '<b>x</b> & "y"') },
    { name: 'search-found', address: `${addressOf.searchLab(PROJECT, 'teas')}?q=evening%20tea` },
    ...viewsOfAgent(teas),
    { name: 'trace', address: addressOf.trace(trace) },
  ]
}

/**
 * Returns views of a project whose names try to break out of their place, reverse their text, or
 * widen the page.
 */
export async function hostileViews(baseUrl: string): Promise<readonly ShownView[]> {
  const client = eiderClient(baseUrl)
  const place = { project: HOSTILE_NAME, name: HOSTILE_NAME }
  await client.request('POST', '/projects', { project: { name: HOSTILE_NAME } })
  await create(client, place, [
    { id: HOSTILE_NAME, content: `${HOSTILE_NAME} \u0007 a tea`, [HOSTILE_NAME]: HOSTILE_NAME },
    { id: LONG_WORD, content: `${LONG_WORD} of tea`, [HOSTILE_NAME]: LONG_WORD },
  ])
  const query = `SELECT 1 AS "${HOSTILE_NAME.replaceAll('"', '""')}"`
  const views = `/projects/${encodeURIComponent(HOSTILE_NAME)}/views`
  await client.request('POST', views, { view: { name: `${HOSTILE_NAME}_view`, query } })
  const trace = await asked(client, place)
  const found = new URLSearchParams({ q: `${HOSTILE_NAME} tea` })
  const shown = [
    { name: 'home', address: '/' },
    { name: 'sql', address: addressOf.statement(query) },
    ...viewsOfKnowledgeBase(place),
    { name: 'found', address: `${addressOf.searchLab(HOSTILE_NAME, HOSTILE_NAME)}?${found}` },
    { name: 'document', address: addressOf.document(HOSTILE_NAME, HOSTILE_NAME, HOSTILE_NAME) },
    ...viewsOfAgent(place),
    { name: 'new-agent', address: addressOf.newAgent() },
    { name: 'trace', address: addressOf.trace(trace) },
    { name: 'all-traces', address: '/traces' },
    { name: 'access', address: '/operations/access' },
  ]
  return shown.map(({ name, address }) => ({ name: `hostile-${name}`, address }))
}

interface Place {
  readonly project: string
  /** The name of the knowledge base and of its agent. */
  readonly name: string
}

async function create(
  client: EiderClient,
  { project, name }: Place,
  rows: readonly SampleDocument[] = [],
): Promise<void> {
  const of = `/projects/${encodeURIComponent(project)}`
  const all = `${of}/knowledge_bases`
  await client.request('POST', all, { knowledge_base: { name } })
  if (rows.length > 0) {
    const one = `${all}/${encodeURIComponent(name)}`
    await client.request('PUT', one, { knowledge_base: { rows } })
  }
  const data = { knowledge_bases: [`${project}.${name}`] }
  await client.request('POST', `${of}/agents`, { agent: { name: `${name}_agent`, data } })
}

/** @returns the ID of a question's trace */
async function asked(client: EiderClient, { project, name }: Place): Promise<string> {
  const of = `/projects/${encodeURIComponent(project)}`
  let trace = ''
  const agent = `${of}/agents/${encodeURIComponent(`${name}_agent`)}`
  for await (const event of client.ask(agent, 'Which tea has no caffeine?')) {
    if (event.kind === 'start') trace = event.traceId
  }
  return trace
}

const COMMON: readonly ShownView[] = [
  { name: 'home', address: '/' },
  { name: 'new-knowledge-base', address: addressOf.newKnowledgeBase() },
  { name: 'new-agent', address: addressOf.newAgent() },
  { name: 'sql', address: '/sql' },
  { name: 'connections', address: '/connections' },
  { name: 'traces', address: '/traces' },
  { name: 'operations', address: '/operations' },
  ...['jobs', 'running', 'requests', 'backups', 'access', 'settings'].map((part) => {
    return { name: `operations-${part}`, address: `/operations/${part}` }
  }),
  { name: 'not-found', address: '/projects/none' },
]

function viewsOfKnowledgeBase({ project, name }: Place): readonly ShownView[] {
  return [
    { name: 'documents', address: addressOf.knowledgeBase(project, name) },
    { name: 'add', address: addressOf.addDocuments(project, name) },
    { name: 'search', address: addressOf.searchLab(project, name) },
    { name: 'map', address: addressOf.map(project, name) },
    { name: 'settings', address: addressOf.knowledgeBaseSettings(project, name) },
  ]
}

function viewsOfAgent({ project, name: knowledgeBase }: Place): readonly ShownView[] {
  const name = `${knowledgeBase}_agent`
  return [
    { name: 'agent', address: addressOf.agent(project, name) },
    { name: 'agent-settings', address: addressOf.agentSettings(project, name) },
    { name: 'traces', address: addressOf.agentTraces(project, name) },
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
