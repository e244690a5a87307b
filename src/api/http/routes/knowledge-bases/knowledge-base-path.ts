import { requireKnowledgeBase } from '../../../../core/domain/access/catalog-snapshot.ts'
import type { KnowledgeBase } from '../../../../core/domain/knowledge-base.ts'
import type { RouteContext } from '../../request/route-context.ts'

export interface KnowledgeBasePath {
  readonly project_name: string
  readonly knowledge_base_name: string
}

/** The knowledge base that a path names. @throws AppError `project_not_found`, `knowledge_base_not_found` */
export function knowledgeBaseAt(context: RouteContext, path: KnowledgeBasePath): KnowledgeBase {
  return requireKnowledgeBase(context.snapshot(), path.project_name, path.knowledge_base_name)
}
