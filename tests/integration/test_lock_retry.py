"""A metastore that goes away while a statement asks for its locks: the statement asks again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.hive_hooks import run_probe

if TYPE_CHECKING:
    from pathlib import Path

# A metastore that loses the connection instead of an answer to some requests for locks; another one in the list is away.
# Each line has what a request gives, its id, and how often locks were asked for.
PROBE = """
package hopshive;

import java.lang.reflect.Proxy;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.IMetaStoreClient;
import org.apache.hadoop.hive.metastore.api.*;
import org.apache.hadoop.hive.ql.metadata.Hive;
import org.apache.hadoop.hive.ql.parse.HiveSemanticAnalyzerHookContextImpl;
import org.apache.hadoop.hive.ql.session.SessionState;
import org.apache.thrift.protocol.TProtocol;
import org.apache.thrift.server.*;
import org.apache.thrift.transport.*;

class Probe {
    static TTransport connection;
    static int asked;
    /** Whether the connection is lost with the next request, and what becomes of that one: null if it is not queued. */
    static boolean loses;
    static LockState queued;
    static List<ShowLocksResponseElement> locks = new ArrayList<>();

    static Object answer(String method, Object[] values) {
        switch (method) {
            case "lock":
                LockState state = loses ? queued : LockState.ACQUIRED;
                LockRequest request = (LockRequest) values[0];
                asked++;
                if (state != null) {
                    ShowLocksResponseElement lock = new ShowLocksResponseElement(
                        asked, "shop", state, LockType.SHARED_READ, 0, "hive", "edge");
                    lock.setTxnid(request.getTxnid());
                    lock.setAgentInfo(request.getAgentInfo());
                    locks.add(lock);
                }
                if (loses) {
                    connection.close();
                }
                loses = false;
                return new LockResponse(asked, LockState.ACQUIRED);
            case "show_locks":
                long transaction = ((ShowLocksRequest) values[0]).getTxnid();
                ShowLocksResponse found = new ShowLocksResponse();
                found.setLocks(locks.stream().filter(lock -> lock.getTxnid() == transaction).toList());
                return found;
            case "set_ugi":
                return List.of();
            case "get_all_functions":
                return new GetAllFunctionsResponse();
            default:
                return null;
        }
    }

    static int portOfNobody() throws Exception {
        try (ServerSocket closed = new ServerSocket(0)) {
            return closed.getLocalPort();
        }
    }

    static void say(Object line) {
        System.out.println("= " + line);
    }

    static void lock(Hive hive, long transaction, boolean lost, LockState state) throws Exception {
        LockComponent table = new LockComponent(LockType.SHARED_READ, LockLevel.TABLE, "shop");
        LockRequest request = new LockRequest(List.of(table), "hive", "edge");
        request.setTxnid(transaction);
        request.setAgentInfo("query");
        loses = lost;
        queued = state;
        int before = asked;
        String said;
        try {
            LockResponse given = hive.getMSC().lock(request);
            said = given.getState() + " " + given.getLockid();
        } catch (TTransportException gone) {
            said = "lost";
        }
        say(said + " " + (asked - before));
    }

    public static void main(String[] arguments) throws Exception {
        TServerSocket socket = new TServerSocket(0);
        ThriftHiveMetastore.Iface metastore = (ThriftHiveMetastore.Iface) Proxy.newProxyInstance(
            Probe.class.getClassLoader(), new Class<?>[] {ThriftHiveMetastore.Iface.class},
            (proxy, method, values) -> answer(method.getName(), values));
        TServer server = new TThreadPoolServer(new TThreadPoolServer.Args(socket)
            .processor(new ThriftHiveMetastore.Processor<>(metastore)));
        server.setServerEventHandler(new TServerEventHandler() {
            public void preServe() {}
            public ServerContext createContext(TProtocol in, TProtocol out) { return null; }
            public void deleteContext(ServerContext context, TProtocol in, TProtocol out) {}
            public void processContext(ServerContext context, TTransport in, TTransport out) { connection = in; }
        });
        Thread serving = new Thread(server::serve);
        serving.setDaemon(true);
        serving.start();
        HiveConf conf = new HiveConf();
        conf.set("hive.metastore.uris", "thrift://127.0.0.1:" + socket.getServerSocket().getLocalPort()
            + ",thrift://127.0.0.1:" + portOfNobody());
        conf.set("hive.metastore.client.connect.retry.delay", "0s");
        SessionState.setCurrentSessionState(new SessionState(conf));
        HiveSemanticAnalyzerHookContextImpl context = new HiveSemanticAnalyzerHookContextImpl();
        context.setConf(conf);
        Hive hive = context.getHive();
        lock(hive, 7, true, null);
        hive.getMSC().reconnect();
        asked = 0;
        new LockRetry().postAnalyze(context, List.of());
        IMetaStoreClient client = hive.getMSC();
        lock(hive, 7, true, null);
        new LockRetry().postAnalyze(context, List.of());
        say(context.getHive() == hive && hive.getMSC() == client);
        lock(hive, 8, true, LockState.WAITING);
        lock(hive, 9, true, LockState.ACQUIRED);
        lock(hive, 9, true, null);
        lock(hive, 0, true, null);
        System.exit(0);
    }
}
"""


def test_locks_are_asked_for_again_in_a_transaction(tmp_path: Path, hive_home: Path, hadoop_home: Path) -> None:
    said = [line[2:] for line in run_probe(PROBE, tmp_path, (hive_home, hadoop_home), ()) if line.startswith("= ")]
    assert said == [
        # Hive's own client, then that of a statement, which the next statement keeps.
        "lost 1",
        "ACQUIRED 2 2",
        "true",
        # The first request was queued, and is taken over; the last one of a transaction, not the one before.
        "WAITING 3 1",
        "ACQUIRED 4 1",
        "ACQUIRED 6 2",
        # Outside of a transaction.
        "lost 1",
    ]
