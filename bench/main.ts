/** `npm run bench [-- --only a,b] [--quick | --full]`: runs the scenarios one after the other and prints a table. */
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { textTable } from '../scripts/text-table.ts'
import type { BenchSize, Scenario } from './scenario.ts'
import { afterKill } from './scenarios/after-kill.ts'
import { agentOverhead } from './scenarios/agent-overhead.ts'
import { besideLong } from './scenarios/beside-long.ts'
import { builtin } from './scenarios/builtin.ts'
import { eventLoop } from './scenarios/event-loop.ts'
import { exportRows } from './scenarios/export.ts'
import { filters } from './scenarios/filters.ts'
import { insert } from './scenarios/insert.ts'
import { inserting } from './scenarios/inserting.ts'
import { keyword } from './scenarios/keyword.ts'
import { largeText } from './scenarios/large-text.ts'
import { million } from './scenarios/million.ts'
import { misbehaviour } from './scenarios/misbehaviour.ts'
import { planning } from './scenarios/planning.ts'
import { responsiveness } from './scenarios/responsiveness.ts'
import { search } from './scenarios/search.ts'
import { selectOne } from './scenarios/select-one.ts'
import { startUp } from './scenarios/start-up.ts'
import { vectorIndex } from './scenarios/vector-index.ts'

const SCENARIOS: readonly Scenario[] = [
  startUp,
  selectOne,
  planning,
  besideLong,
  exportRows,
  insert,
  search,
  vectorIndex,
  filters,
  keyword,
  inserting,
  afterKill,
  million,
  largeText,
  builtin,
  agentOverhead,
  responsiveness,
  misbehaviour,
  eventLoop,
]

process.exitCode = await main()

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      quick: { type: 'boolean', default: false },
      full: { type: 'boolean', default: false },
    },
  })
  const size = values.quick ? 'quick' : values.full ? 'full' : 'normal'
  const wanted = values.only?.split(',') ?? usual()
  const unknown = wanted.filter((name) => !SCENARIOS.some((scenario) => scenario.name === name))
  if (unknown.length > 0) {
    const names = SCENARIOS.map((scenario) => scenario.name).join(', ')
    console.error(`No scenario ${unknown.join(', ')}; there are ${names}`)
    return 2
  }
  const cores = availableParallelism()
  console.log(`Bun ${Bun.version}, ${process.platform} ${process.arch}, ${cores} cores, ${size}`)
  const chosen = SCENARIOS.filter((scenario) => wanted.includes(scenario.name))
  let failures = 0
  for (const scenario of chosen) failures += (await runScenario(scenario, size)) ? 0 : 1
  return failures === 0 ? 0 : 1
}

function usual(): readonly string[] {
  return SCENARIOS.filter(({ onlyWhenNamed }) => onlyWhenNamed !== true).map(({ name }) => name)
}

/** A scenario that fails says so and does not keep the others from running. */
async function runScenario(scenario: Scenario, size: BenchSize): Promise<boolean> {
  console.log(`\n${scenario.name}: ${scenario.title}`)
  const startedAt = performance.now()
  try {
    const measures = await scenario.run(size)
    const rows = measures.map(({ what, value, unit }) => [what, rounded(value), unit])
    console.log(textTable(['measure', 'value', 'unit'], rows))
    console.log(`  took ${((performance.now() - startedAt) / 1000).toFixed(0)} s`)
    return true
  } catch (error) {
    console.error(`  failed: ${error instanceof Error ? error.message : String(error)}`)
    return false
  }
}

/** Digits that mean something: none after the point from 100 on. */
function rounded(value: number): number {
  return Number(value.toFixed(value >= 100 ? 0 : 2))
}
