import { loadMeasure, percentile, runLoad } from '../load.ts'
import type { Scenario } from '../scenario.ts'
import { type ScriptedAgent, withScriptedAgent } from '../scripted-agent.ts'

export const agentOverhead: Scenario = {
  name: 'agent-overhead',
  title: 'A question with one tool call to a model that answers at once',
  run: (size) => withScriptedAgent(0, (agent) => measure(agent, size === 'quick' ? 10 : 200)),
}

async function measure({ ask, server }: ScriptedAgent, questions: number) {
  for (let index = 0; index < 5; index += 1) await ask()
  const firstMs: number[] = []
  const load = { clients: 1, requestsMax: questions, durationMs: 30_000, pid: server.pid }
  const alone = await runLoad(load, async () => firstMs.push(await ask()))
  const crowd = await runLoad({ ...load, clients: 8, requestsMax: questions * 4 }, ask)
  firstMs.sort((a, b) => a - b)
  return [
    loadMeasure('one client', alone),
    { what: 'one client, first event (p50)', value: percentile(firstMs, 0.5), unit: 'ms' },
    loadMeasure('eight clients', crowd),
  ]
}
