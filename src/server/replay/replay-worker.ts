import { parentPort, workerData } from "node:worker_threads";
import { describeError } from "../../core/errno.ts";
import { knownModel, loadReplay } from "../../economy/index.ts";
import { pruningPolicy } from "../../pruning/index.ts";
import type { ReplayAnswer, ReplayOrder } from "./session-replay.ts";

parentPort?.postMessage(await answer(workerData as ReplayOrder));

async function answer({ file, shownAs, prune }: ReplayOrder): Promise<ReplayAnswer> {
	try {
		const tools = await loadReplay();
		const session = tools.rebuildRequests(await tools.readSessionFile(file), knownModel);
		if (session.bills.length === 0) {
			return { ok: false, why: `${shownAs} has no request with a bill, so nothing to replay` };
		}
		const pruning = pruningPolicy(prune);
		// As on the command line without `--policy`.
		const policies = [...tools.replayPolicies, tools.strataPolicy(pruning), pruning];
		const report = tools.buildReport(session, { policies });
		return { ok: true, report: { ...report, file: shownAs } };
	} catch (error) {
		// Texts of the reader name the file, which may be one of ours.
		return { ok: false, why: describeError(error).replaceAll(file, shownAs) };
	}
}
