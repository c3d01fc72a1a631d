import { startFakeOciServer } from "#tests/support/script/fake-oci-server.ts";
import { describeScriptFaults } from "#tests/support/script/fault-scenarios.ts";

describeScriptFaults(startFakeOciServer);
