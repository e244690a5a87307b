/** The models in OpenAI's API: an agent, or a knowledge base for the default agent. */

import type { CatalogSnapshot } from '../../../core/domain/access/catalog-snapshot.ts'
import { mayDo, mayName, type Principal } from '../../../core/domain/access/principal.ts'
import type { Agent } from '../../../core/domain/agents/agent.ts'
import type { KnowledgeBase } from '../../../core/domain/knowledge-base.ts'
import { DEFAULT_PROJECT, fullName, nameKey } from '../../../core/domain/names.ts'
import { AppError } from '../../../core/errors.ts'

export interface NamedModel {
  readonly id: string
  readonly kind: 'agent' | 'knowledge_base'
  readonly agent: Agent
}

/** All models the principal may ask, agents first. */
export function modelsFor(snapshot: CatalogSnapshot, principal: Principal): readonly NamedModel[] {
  const agents = snapshot.agents.map((agent): NamedModel => {
    return { id: fullName(agent), kind: 'agent', agent }
  })
  const taken = new Set(agents.map(({ id }) => nameKey(id)))
  const kbs = readableKnowledgeBases(snapshot, principal).filter(
    (kb) => !taken.has(nameKey(fullName(kb))),
  )
  const visible = mayDo(principal, 'ask')
    ? agents.filter(({ agent }) => mayName(principal, agent.projectName))
    : []
  return [...visible, ...(mayDo(principal, 'ask') ? kbs.map(modelOver) : [])]
}

/** An agent precedes a knowledge base. @throws AppError `model_not_found`, also if not visible */
export function requireModel(
  snapshot: CatalogSnapshot,
  principal: Principal,
  name: string,
): NamedModel {
  const model = mayDo(principal, 'ask') ? findModel(snapshot, principal, name) : undefined
  if (model !== undefined) return model
  const message = `The model "${name.slice(0, 200)}" does not exist, or you may not ask it`
  const next = 'a model is project.agent or project.knowledge_base: GET /v1/models lists them'
  throw new AppError('model_not_found', `${message}; ${next}`, { param: 'model' })
}

/** Like `requireModel`, without checking the right to ask. */
export function findModel(
  snapshot: CatalogSnapshot,
  principal: Principal,
  name: string,
): NamedModel | undefined {
  const agent = thingNamed(snapshot.agents, name)
  if (agent === undefined) {
    const kb = findReadable(snapshot, principal, name)
    return kb === undefined ? undefined : modelOver(kb)
  }
  if (!mayName(principal, agent.projectName)) return undefined
  return { id: fullName(agent), kind: 'agent', agent }
}

/** By id, `project.name` or `name`; undefined if the principal may not read it. */
export function findReadable(
  snapshot: CatalogSnapshot,
  principal: Principal,
  id: string,
): KnowledgeBase | undefined {
  return thingNamed(readableKnowledgeBases(snapshot, principal), id)
}

function readableKnowledgeBases(
  snapshot: CatalogSnapshot,
  principal: Principal,
): readonly KnowledgeBase[] {
  if (!mayDo(principal, 'read')) return []
  return snapshot.knowledgeBases.filter((kb) => mayName(principal, kb.projectName))
}

/** The default agent with these knowledge bases, in the project of the first one. */
export function agentOver([first, ...others]: readonly [KnowledgeBase, ...KnowledgeBase[]]): Agent {
  const { id, name, projectId, projectName, createdAt, updatedAt } = first
  return {
    // No stored agent has a negative id, so this agent shares no thread with one.
    id: -id,
    ...{ name, projectId, projectName, createdAt, updatedAt },
    model: null,
    data: { knowledgeBases: [first, ...others].map(fullName), tables: [], isExact: true },
    promptTemplate: null,
    params: {},
  }
}

function modelOver(kb: KnowledgeBase): NamedModel {
  return { id: fullName(kb), kind: 'knowledge_base', agent: agentOver([kb]) }
}

/** Names never contain dots, so the id can be split at the dot. */
function thingNamed<T extends Named>(things: readonly T[], id: string): T | undefined {
  const dot = id.indexOf('.')
  const project = nameKey(dot === -1 ? DEFAULT_PROJECT : id.slice(0, dot))
  const name = nameKey(id.slice(dot + 1))
  return things.find((thing) => {
    return nameKey(thing.name) === name && nameKey(thing.projectName) === project
  })
}

interface Named {
  readonly projectName: string
  readonly name: string
}
