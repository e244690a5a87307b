import { readdirSync } from 'node:fs'
import { runLoad } from '../load.ts'
import { residentMb, type Scenario } from '../scenario.ts'
import { type ScriptedAgent, withScriptedAgent } from '../scripted-agent.ts'

export const agentSoak: Scenario = {
  name: 'agent-soak',
  title: '10 000 questions in a row: memory, threads and open handles of the server',
  onlyWhenNamed: true,
  run: (size) => withScriptedAgent(0, (agent) => measure(agent, size === 'quick' ? 100 : 2000)),
}

const PARTS = 5

async function measure({ ask, server: { pid } }: ScriptedAgent, questions: number) {
  const measures = [...stateOf(pid, 0)]
  for (let part = 1; part <= PARTS; part += 1) {
    const load = { clients: 2, requestsMax: questions, durationMs: 600_000, pid }
    const { cpuMs } = await runLoad(load, ask)
    measures.push(...stateOf(pid, part * questions), {
      what: `${part * questions}: CPU per question`,
      value: cpuMs / questions,
      unit: 'ms',
    })
  }
  return measures
}

function stateOf(pid: number, asked: number) {
  return [
    { what: `${asked}: memory`, value: residentMb(pid), unit: 'MB' },
    { what: `${asked}: threads`, value: countIn(`/proc/${pid}/task`), unit: '' },
    { what: `${asked}: open handles`, value: countIn(`/proc/${pid}/fd`), unit: '' },
  ]
}

/** Returns NaN without /proc. */
function countIn(folder: string): number {
  try {
    return readdirSync(folder).length
  } catch {
    return Number.NaN
  }
}
