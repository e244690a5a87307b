/** What a conversation stores of an answer's rows, charts and warnings: as much as fits. */

import { byteSize } from '../../core/domain/agents/agent-limits.ts'
import type {
  Chart,
  OutputEvent,
  StatementRows,
} from '../../core/domain/agents/completion-event.ts'
import type { KeptFindings } from '../../core/domain/ports/conversation-ports.ts'
import { definedFields } from '../../core/json.ts'

const FINDINGS_BYTES_MAX = 524_288
const WARNINGS_MAX = 20
const WARNING_CHARS_MAX = 2_000

type Told = Pick<OutputEvent, keyof KeptFindings>

export function keptFindings(output: Told): KeptFindings {
  const room = new Room(FINDINGS_BYTES_MAX)
  const charts = (output.charts ?? []).filter((chart) => room.takes(chart))
  const result = output.result ? room.cut(output.result) : output.result
  const statements = (output.statements ?? []).map((rows) => room.cut(rows))
  const lost = (output.charts?.length ?? 0) - charts.length
  const warnings = [...output.warnings, ...(lost === 0 ? [] : [chartsLost(lost)])]
    .slice(-WARNINGS_MAX)
    .map((warning) => warning.slice(0, WARNING_CHARS_MAX))
  const found = {
    ...(statements.length === 0 ? {} : { statements }),
    ...(charts.length === 0 ? {} : { charts }),
    ...(result === undefined ? {} : { result }),
  }
  const { evidence, low_evidence } = output
  return { evidence, ...definedFields({ low_evidence }), ...found, warnings }
}

/** Charts are dropped as a whole, because half a chart would be misleading. */
function chartsLost(count: number): string {
  const what = count === 1 ? 'A chart was' : `${count} charts were`
  return `${what} too large to be stored: at most ${FINDINGS_BYTES_MAX / 1024} KB of rows and charts are stored with an answer`
}

class Room {
  #left: number

  constructor(bytes: number) {
    this.#left = bytes
  }

  takes(chart: Chart): boolean {
    const bytes = jsonSize(chart)
    if (bytes > this.#left) return false
    this.#left -= bytes
    return true
  }

  cut(rows: StatementRows): StatementRows {
    this.#left -= jsonSize({ ...rows, data: [] })
    const data = []
    for (const row of rows.data) {
      const bytes = jsonSize(row) + 1
      if (bytes > this.#left) return { ...rows, data, is_cut: true }
      this.#left -= bytes
      data.push(row)
    }
    return rows
  }
}

function jsonSize(value: unknown): number {
  return byteSize(JSON.stringify(value))
}
