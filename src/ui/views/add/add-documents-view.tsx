import {
  type KnowledgeBaseAddress,
  KnowledgeBaseFrame,
} from '../knowledge-base/knowledge-base-frame.tsx'

export function AddDocumentsView({ project, name }: KnowledgeBaseAddress) {
  return (
    <KnowledgeBaseFrame project={project} name={name}>
      <p>AddDocumentsView</p>
    </KnowledgeBaseFrame>
  )
}
