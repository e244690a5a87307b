/** What paths name, for `find` of operations. */
import {
  requireAgent,
  requireKnowledgeBase,
  requireProject,
} from '../../../core/domain/access/catalog-snapshot.ts'
import type { Agent } from '../../../core/domain/agents/agent.ts'
import type { KnowledgeBase } from '../../../core/domain/knowledge-base.ts'
import type { Project } from '../../../core/domain/project.ts'
import type { Place } from '../openapi/operation.ts'

export type At<Names extends string> = Pick<
  Place<{ readonly [K in Names]: string }>,
  'params' | 'snapshot'
>

/** @throws AppError `project_not_found` */
export function projectAt({ params, snapshot }: At<'project_name'>): Project {
  return requireProject(snapshot, params.project_name)
}

/** @throws AppError `project_not_found`, `knowledge_base_not_found` */
export function knowledgeBaseAt({
  params,
  snapshot,
}: At<'project_name' | 'knowledge_base_name'>): KnowledgeBase {
  return requireKnowledgeBase(snapshot, params.project_name, params.knowledge_base_name)
}

/** @throws AppError `project_not_found`, `agent_not_found` */
export function agentAt({ params, snapshot }: At<'project_name' | 'agent_name'>): Agent {
  return requireAgent(snapshot, params.project_name, params.agent_name)
}
