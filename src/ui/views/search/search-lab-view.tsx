import {
  type KnowledgeBaseAddress,
  KnowledgeBaseFrame,
} from '../knowledge-base/knowledge-base-frame.tsx'

export function SearchLabView({ project, name }: KnowledgeBaseAddress) {
  return (
    <KnowledgeBaseFrame project={project} name={name}>
      <p>SearchLabView</p>
    </KnowledgeBaseFrame>
  )
}
