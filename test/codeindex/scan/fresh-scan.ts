import { type ScanOptions, TreeScanner } from "../../../src/codeindex/scan/scan-tree.ts";

/** What a scanner finds that has seen nothing yet. */
export function scanTree(root: string, options?: ScanOptions) {
	return new TreeScanner(root).scan(options);
}
