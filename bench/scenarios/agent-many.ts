import { handOver } from '../compared-checkouts.ts'
import { type Measure, residentMb, type Scenario } from '../scenario.ts'
import { type ScriptedAgent, withScriptedAgent } from '../scripted-agent.ts'
import { cpuMsOf } from '../server-cpu.ts'

const QUESTIONS = 50
const LATENCY_MS = 1000

export const agentMany: Scenario = {
  name: 'agent-many',
  title: '50 questions at once to one agent, two turns of a model that takes a second for each',
  run: () => withScriptedAgent(LATENCY_MS, measure),
}

async function measure(agent: ScriptedAgent) {
  const idleMb = residentMb(agent.server.pid)
  const measures: Measure[] = []
  for (const what of ['the first time', 'again']) {
    measures.push(...(await once(agent, what, idleMb)))
    await handOver()
  }
  return measures
}

async function once({ ask, server }: ScriptedAgent, what: string, idleMb: number) {
  const cpuBefore = cpuMsOf(server.pid)
  const beganMs = performance.now()
  const answers = Promise.allSettled(Array.from({ length: QUESTIONS }, ask))
  // All of them wait for their model.
  await Bun.sleep(LATENCY_MS)
  const runningMb = residentMb(server.pid) - idleMb
  const failed = (await answers).filter(({ status }) => status === 'rejected').length
  return [
    { what: `${what}: until all are answered`, value: performance.now() - beganMs, unit: 'ms' },
    { what: `${what}: failed`, value: failed, unit: 'questions' },
    {
      what: `${what}: CPU per question`,
      value: (cpuMsOf(server.pid) - cpuBefore) / QUESTIONS,
      unit: 'ms',
    },
    { what: `${what}: memory a running question`, value: runningMb / QUESTIONS, unit: 'MB' },
  ]
}
