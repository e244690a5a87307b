/** Which state of an agent a client has seen, so that it does not change another one by mistake. */
import { createHash } from 'node:crypto'
import type { Agent } from '../../domain/agents/agent.ts'
import { AppError } from '../../errors.ts'
import { agentRecord } from './wire.ts'

/** The ETag of an agent: another one after each change. It is made of what everybody sees, without secrets. */
export function agentVersion(agent: Agent): string {
  const record = JSON.stringify(agentRecord(agent))
  return `"${createHash('sha256').update(record).digest('base64url').slice(0, 22)}"`
}

/**
 * @param ifMatch the header: the versions one of which the agent must have; `*`, or none at all: any
 * @throws AppError `agent_changed`
 */
export function requireVersion(agent: Agent, ifMatch: string | null): void {
  if (ifMatch === null) return
  const version = agentVersion(agent)
  // Proxies that compress mark a version as weak; the agent is the same.
  const named = ifMatch.split(',').map((one) => one.trim().replace(/^W\//, ''))
  if (named.includes('*') || named.includes(version)) return
  const message = `The agent ${agent.name} was changed since you read it: GET it, and send your changes with its new ETag as If-Match`
  throw new AppError('agent_changed', message)
}
