/** Runs scenarios one after the other and prints a table of each, by default those in docs/performance.md. */
import { availableParallelism, cpus, totalmem } from 'node:os'
import { join, resolve } from 'node:path'
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

/** The tables in docs/performance.md, in their order. */
const DOCUMENTED: readonly Scenario[] = [
  startUp,
  selectOne,
  analytics,
  insert,
  search,
  filters,
  keyword,
  agentOverhead,
  growth,
]

const DOCS = join(import.meta.dir, '..', 'docs')
const TABLES_BEGIN = '<!-- The tables of `npm run bench`; `--docs` writes them. -->'
const TABLES_END = '<!-- The end of the tables. -->'

process.exitCode = await main()

async function main(): Promise<number> {
  const values = givenOptions()
  if (values === null || values.help) {
    console.log(usage())
    return values === null ? 2 : 0
  }
  const size = values.quick ? 'quick' : values.full ? 'full' : 'normal'
  const wanted = values.only?.split(',') ?? usual(values.all)
  const unknown = wanted.filter((name) => !SCENARIOS.some((scenario) => scenario.name === name))
  if (unknown.length > 0) {
    const names = SCENARIOS.map((scenario) => scenario.name).join(', ')
    console.error(`No scenario ${unknown.join(', ')}; there are ${names}`)
    return 2
  }
  const where = `Commit ${commit()}; ${machine()}; sizes: ${size}`
  console.log(where)
  const chosen = wanted.flatMap((wish) => SCENARIOS.find(({ name }) => name === wish) ?? [])
  const run: Run = {
    size,
    against: values.against === undefined ? null : resolve(values.against),
    isMarkdown: values.markdown || values.docs,
    plot: values.plot ?? (values.docs ? join(DOCS, 'growth.svg') : null),
  }
  const tables: string[] = []
  for (const scenario of chosen) {
    const table = await runScenario(scenario, run)
    if (table !== null) tables.push(table)
  }
  if (values.docs) await writeTables([where, ...tables])
  return tables.length === chosen.length ? 0 : 1
}

/** Replaces the tables in docs/performance.md. */
async function writeTables(tables: readonly string[]): Promise<void> {
  const file = Bun.file(join(DOCS, 'performance.md'))
  const text = await file.text()
  const [before, after] = [text.split(TABLES_BEGIN)[0], text.split(TABLES_END)[1]]
  if (before === undefined || after === undefined) throw new Error('performance.md has no tables')
  await Bun.write(
    file,
    [`${before}${TABLES_BEGIN}`, ...tables, `${TABLES_END}${after}`].join('\n\n'),
  )
}

/** Returns null after printing what is wrong with the options. */
function givenOptions() {
  try {
    return parseArgs({
      options: {
        only: { type: 'string' },
        quick: { type: 'boolean', default: false },
        full: { type: 'boolean', default: false },
        against: { type: 'string' },
        all: { type: 'boolean', default: false },
        markdown: { type: 'boolean', default: false },
        docs: { type: 'boolean', default: false },
        plot: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    }).values
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    return null
  }
}

function usage(): string {
  const names = SCENARIOS.map(({ name, title, onlyWhenNamed }) => {
    return `  ${name.padEnd(16)}${title}${onlyWhenNamed === true ? ' (only when named)' : ''}`
  })
  return `npm run bench -- [options]

  --only a,b          run these scenarios
  --all               run all but those marked below; without, those of docs/performance.md
  --quick, --full     small or large sizes
  --against <folder>  measure another checkout beside this one
  --markdown          print Markdown tables
  --docs              write the tables to docs/performance.md and the plot to docs/growth.svg
  --plot <file>       write the plot of growth as SVG

Scenarios:
${names.join('\n')}`
}

interface Run {
  readonly size: BenchSize
  /** The folder of another checkout, or null to compare none. */
  readonly against: string | null
  readonly isMarkdown: boolean
  /** The file for the plot of `growth`. */
  readonly plot: string | null
}

function commit(): string {
  const git = Bun.spawnSync(['git', 'rev-parse', '--short', 'HEAD'], { stderr: 'ignore' })
  return git.success ? git.stdout.toString().trim() : 'unknown'
}

function machine(): string {
  const model = cpus()[0]?.model ?? process.arch
  const gigabytes = Math.round(totalmem() / 1024 ** 3)
  return `${availableParallelism()} cores (${model}), ${gigabytes} GB, ${process.platform}; Bun ${Bun.version}`
}

function usual(isAll: boolean): readonly string[] {
  const scenarios = isAll ? SCENARIOS.filter((one) => one.onlyWhenNamed !== true) : DOCUMENTED
  return scenarios.map(({ name }) => name)
}

/** @returns what it printed, or null for a scenario that failed, which does not end the others */
async function runScenario(scenario: Scenario, run: Run): Promise<string | null> {
  const { name, title } = scenario
  const heading = run.isMarkdown ? `### \`${name}\`: ${title}` : `${name}: ${title}`
  console.log(`\n${heading}\n`)
  const startedAt = performance.now()
  try {
    const [measures, others] = await measured(scenario, run)
    const table = printedTable(measureRows(measures, others), run.isMarkdown)
    console.log(table)
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(0)
    if (!run.isMarkdown) console.log(`\n  took ${seconds} s`)
    if (scenario === growth && run.plot !== null) {
      await Bun.write(run.plot, growthPlot(measures, others))
    }
    return `${heading}\n\n${table}`
  } catch (error) {
    console.error(`  failed: ${error instanceof Error ? error.message : String(error)}`)
    return null
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
