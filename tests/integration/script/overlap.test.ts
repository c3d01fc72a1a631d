import { startFakeOciServer } from "#tests/support/script/fake-oci-server.ts";
import { describeScriptOverlap } from "#tests/support/script/overlap-scenarios.ts";

describeScriptOverlap(startFakeOciServer);
