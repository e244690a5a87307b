import { describe, expect, test } from 'bun:test'
import type {
  FinishedRun,
  ModelTurn,
  RunEnd,
  RunStart,
  ToolStep,
} from '../../src/core/domain/agents/completion-event.ts'
import type { ModelPrice } from '../../src/ops/telemetry/run-recorder.ts'
import { RunRecorder } from '../../src/ops/telemetry/run-recorder.ts'

const START: RunStart = {
  traceId: 't',
  agentId: 1,
  agentName: 'helper',
  projectId: 1,
  projectName: 'mindsdb',
  question: 'Why?',
  purpose: 'question',
  conversationId: null,
  askedBy: null,
  model: { provider: 'openai', modelName: 'gpt-4.1-mini', options: {} },
  traceParent: null,
}

const TURN: ModelTurn = {
  startMs: 0,
  firstPieceMs: 1,
  tookMs: 2,
  finish: 'stop',
  usage: { inputTokens: 1000, outputTokens: 100, cachedTokens: 400 },
  reasoning: '',
  callCount: 0,
}

const STEP: ToolStep = { startMs: 0, tookMs: 1, tool: 'kb_query_tool', input: '', observation: '' }

const END: RunEnd = {
  outcome: 'answered',
  answer: 'Because.',
  citations: [],
  warnings: [],
  evidence: 'answer',
  errorCode: null,
  errorMessage: null,
}

interface Run {
  readonly start?: Partial<RunStart>
  readonly turns?: readonly ModelTurn[]
  readonly steps?: readonly ToolStep[]
  readonly end?: Partial<RunEnd>
  readonly prices?: readonly ModelPrice[]
  readonly secrets?: readonly string[]
}

function recorded({ start, turns = [], steps = [], end, prices = [], secrets = [] }: Run) {
  const kept: FinishedRun[] = []
  const sinks = [{ keep: (run: FinishedRun) => void kept.push(run) }]
  const recorder = new RunRecorder({ sinks, prices, secrets: () => secrets, now: () => 5 })
  const trace = recorder.begin({ ...START, ...start })
  for (const turn of turns) trace.turn(turn)
  for (const step of steps) trace.step(step)
  trace.end({ ...END, ...end })
  trace.end({ ...END, outcome: 'failed' })
  const [run] = kept
  if (run === undefined || kept.length > 1) throw new Error('expected one run')
  return run
}

describe('what a run costs', () => {
  const prices = [
    { pattern: 'gpt-4.1-mini', input: 2, output: 8, cached: 0.5 },
    { pattern: 'azure/*', input: 1, output: 1, cached: 1 },
    { pattern: '*gpt*', input: 100, output: 100, cached: 100 },
  ]
  const costOf = (modelName: string, turns: readonly ModelTurn[], provider = 'openai') =>
    recorded({ start: { model: { provider, modelName, options: {} } }, turns, prices }).cost

  test('is counted by the first price that fits', () => {
    // 600 × 2 + 400 × 0.5 + 100 × 8, twice, per million each.
    expect(costOf('gpt-4.1-mini', [TURN, TURN])).toBeCloseTo(0.0044, 12)
    expect(costOf('GPT-4.1-MINI', [TURN])).toBeCloseTo(0.0022, 12)
    expect(costOf('anything', [TURN], 'azure')).toBeCloseTo(0.0011, 12)
    expect(costOf('my-gpt-4', [TURN])).toBeCloseTo(0.11, 12)
  })

  test('is unknown without a price, or where a turn was not counted', () => {
    expect(costOf('claude', [TURN])).toBeNull()
    expect(costOf('gpt-4.1-mini', [TURN, { ...TURN, usage: null }])).toBeNull()
  })

  test('is nothing with the built-in model', () => {
    expect(costOf('extractive', [{ ...TURN, usage: null }], 'builtin')).toBe(0)
  })

  test('and its tokens are those of all turns', () => {
    const { usage } = recorded({ turns: [TURN, TURN, { ...TURN, usage: null }] })
    expect(usage).toEqual({ inputTokens: 2000, outputTokens: 200, cachedTokens: 800 })
    expect(recorded({ turns: [{ ...TURN, usage: null }] }).usage).toBeNull()
  })
})

describe('what is kept of a run', () => {
  test('is bounded, and text that the database takes', () => {
    const steps = Array.from({ length: 150 }, () => ({
      ...STEP,
      observation: `\0\uD800${'long '.repeat(100_000)}`,
    }))
    const run = recorded({ steps })
    expect(run.steps).toHaveLength(100)
    expect(run.warnings).toEqual(['50 steps of this run were not kept'])
    expect(run.steps[0]?.observation).toHaveLength(8_001)
    expect(run.steps[0]?.observation).toStartWith('\uFFFD\uFFFDlong long')
    expect(JSON.stringify(run).length).toBeLessThan(1_000_000)
  })

  test('has no known secret, in any form', () => {
    const secrets = ['p"ss wörd+1']
    const model = { ...START.model, apiKey: 'My-Own-Key', baseUrl: 'http://u:l%40gin-pw@h/v1' }
    const forms = `${secrets[0]} ${JSON.stringify(secrets)} ${encodeURIComponent(secrets[0] ?? '')}`
    const said = `${forms} my-own-KEY l@gin-pw l%40gin-pw`
    const run = recorded({
      secrets,
      start: { model, question: said, conversationId: said },
      turns: [{ ...TURN, reasoning: said }],
      steps: [{ ...STEP, tool: said, input: said, observation: said }],
      end: { answer: said, errorMessage: said, warnings: [said] },
    })
    expect(JSON.stringify(run)).not.toMatch(/wörd|w%C3%B6rd|own-key|gin-pw/i)
    expect(run.question).toBe('****** ["******"] ****** ****** ****** ******')
  })

  test('a secret that ends behind the limit is not shown in part', () => {
    const secrets = ['0123456789abcdef-secret']
    const steps = [{ ...STEP, observation: `${'x'.repeat(7_995)} ${secrets[0]}` }]
    const observation = recorded({ secrets, steps }).steps[0]?.observation ?? ''
    expect(observation).not.toContain('01234')
  })

  test('hostile texts end', () => {
    // A pattern that backtracks would take minutes.
    const hostile = [
      'a-'.repeat(5000),
      'key'.repeat(3000),
      '://'.repeat(3000),
      'bearer '.repeat(1500),
    ]
    const steps = hostile.map((observation) => ({ ...STEP, observation }))
    expect(recorded({ steps, secrets: ['abcdefgh'] }).steps).toHaveLength(4)
  })
})
