/** `npm run bench [-- --only a,b] [--quick | --full] [--against <folder>]`: runs the scenarios one after the other and prints a table of each. */
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { compared } from './compared-checkouts.ts'
import { growthPlot } from './growth-plot.ts'
import { type Measure, measureRows, printedTable } from './measure.ts'
import type { BenchSize, Scenario } from './scenario.ts'
import { access } from './scenarios/access.ts'
import { afterKill } from './scenarios/after-kill.ts'
import { agentMany } from './scenarios/agent-many.ts'
import { agentOverhead } from './scenarios/agent-overhead.ts'
import { agentSoak } from './scenarios/agent-soak.ts'
import { analytics } from './scenarios/analytics.ts'
import { besideJobs } from './scenarios/beside-jobs.ts'
import { besideLong } from './scenarios/beside-long.ts'
import { builtin } from './scenarios/builtin.ts'
import { eventLoop } from './scenarios/event-loop.ts'
import { exportRows } from './scenarios/export.ts'
import { filters } from './scenarios/filters.ts'
import { flood } from './scenarios/flood.ts'
import { flow } from './scenarios/flow.ts'
import { growth } from './scenarios/growth.ts'
import { insert } from './scenarios/insert.ts'
import { inserting } from './scenarios/inserting.ts'
import { keyword } from './scenarios/keyword.ts'
import { largeText } from './scenarios/large-text.ts'
import { maps } from './scenarios/maps.ts'
import { million } from './scenarios/million.ts'
import { misbehaviour } from './scenarios/misbehaviour.ts'
import { page } from './scenarios/page.ts'
import { pageSearch } from './scenarios/page-search.ts'
import { pageSql } from './scenarios/page-sql.ts'
import { planning } from './scenarios/planning.ts'
import { responsiveness } from './scenarios/responsiveness.ts'
import { search } from './scenarios/search.ts'
import { selectOne } from './scenarios/select-one.ts'
import { startUp } from './scenarios/start-up.ts'
import { vectorIndex } from './scenarios/vector-index.ts'

const SCENARIOS: readonly Scenario[] = [
  startUp,
  selectOne,
  access,
  analytics,
  planning,
  besideLong,
  exportRows,
  insert,
  flow,
  besideJobs,
  search,
  growth,
  vectorIndex,
  filters,
  keyword,
  inserting,
  afterKill,
  million,
  largeText,
  builtin,
  agentOverhead,
  agentMany,
  agentSoak,
  responsiveness,
  misbehaviour,
  flood,
  eventLoop,
  page,
  pageSearch,
  pageSql,
  maps,
]

process.exitCode = await main()

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      quick: { type: 'boolean', default: false },
      full: { type: 'boolean', default: false },
      against: { type: 'string' },
      markdown: { type: 'boolean', default: false },
      plot: { type: 'string' },
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
  const run: Run = {
    size,
    against: values.against === undefined ? null : resolve(values.against),
    isMarkdown: values.markdown,
    plot: values.plot ?? null,
  }
  let failures = 0
  for (const scenario of chosen) failures += (await runScenario(scenario, run)) ? 0 : 1
  return failures === 0 ? 0 : 1
}

interface Run {
  readonly size: BenchSize
  /** Of another checkout; null: none is compared. */
  readonly against: string | null
  readonly isMarkdown: boolean
  /** Where the plot of `growth` is written. */
  readonly plot: string | null
}

function usual(): readonly string[] {
  return SCENARIOS.filter(({ onlyWhenNamed }) => onlyWhenNamed !== true).map(({ name }) => name)
}

/** A scenario that fails says so and does not keep the others from running. */
async function runScenario(scenario: Scenario, run: Run): Promise<boolean> {
  console.log(`\n${scenario.name}: ${scenario.title}\n`)
  const startedAt = performance.now()
  try {
    const [measures, others] = await measured(scenario, run)
    console.log(printedTable(measureRows(measures, others), run.isMarkdown))
    console.log(`\n  took ${((performance.now() - startedAt) / 1000).toFixed(0)} s`)
    if (scenario === growth && run.plot !== null) {
      await Bun.write(run.plot, growthPlot(measures, others))
    }
    return true
  } catch (error) {
    console.error(`  failed: ${error instanceof Error ? error.message : String(error)}`)
    return false
  }
}

async function measured(
  scenario: Scenario,
  { size, against }: Run,
): Promise<readonly [readonly Measure[], readonly Measure[] | null]> {
  if (against === null) return [await scenario.run(size), null]
  if (scenario.isInProcess === true) {
    throw new Error('it measures the code of this checkout: run it in the other one too')
  }
  return compared(against, () => scenario.run(size))
}
