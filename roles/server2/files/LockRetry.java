package hopshive;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Objects;
import org.apache.hadoop.hive.metastore.IMetaStoreClient;
import org.apache.hadoop.hive.metastore.api.LockRequest;
import org.apache.hadoop.hive.metastore.api.LockResponse;
import org.apache.hadoop.hive.metastore.api.MetaException;
import org.apache.hadoop.hive.metastore.api.ShowLocksRequest;
import org.apache.hadoop.hive.ql.exec.Task;
import org.apache.hadoop.hive.ql.metadata.Hive;
import org.apache.hadoop.hive.ql.metadata.HiveException;
import org.apache.hadoop.hive.ql.parse.AbstractSemanticAnalyzerHook;
import org.apache.hadoop.hive.ql.parse.HiveSemanticAnalyzerHookContext;
import org.apache.hadoop.hive.ql.parse.SemanticException;
import org.apache.thrift.TException;
import org.apache.thrift.transport.TTransportException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A statement whose metastore goes away while the statement asks for its locks asks the next metastore.
 *
 * <p>Hive's client repeats every call on a lost connection, but not this one (CannotRetry of IMetaStoreClient.lock), so a rolling restart of
 * the metastores fails a statement now and then. The metastore that went may have queued the request: then that request is taken over. A
 * second one could wait for a statement that waits for the first one. Requests outside of a transaction are left to fail, since nothing would
 * end the locks of the first one.
 */
public final class LockRetry extends AbstractSemanticAnalyzerHook {
    private static final Logger LOG = LoggerFactory.getLogger(LockRetry.class);

    @Override
    public void postAnalyze(HiveSemanticAnalyzerHookContext context, List<Task<?>> tasks) throws SemanticException {
        try {
            Hive hive = context.getHive();
            synchronized (hive) {
                IMetaStoreClient client = hive.getMSC();
                if (!(Proxy.isProxyClass(client.getClass()) && Proxy.getInvocationHandler(client) instanceof Client)) {
                    Class<?>[] interfaces = {IMetaStoreClient.class};
                    ClassLoader loader = LockRetry.class.getClassLoader();
                    hive.setMSC((IMetaStoreClient) Proxy.newProxyInstance(loader, interfaces, new Client(client)));
                }
            }
        } catch (HiveException | MetaException error) {
            throw new SemanticException(error);
        }
    }

    private static final class Client implements InvocationHandler {
        private final IMetaStoreClient client;
        /** The id of the last locks that were given: ids grow. */
        private volatile long last;

        Client(IMetaStoreClient client) {
            this.client = client;
        }

        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
            if (method.getName().equals("lock")) {
                LockResponse locks = lock((LockRequest) arguments[0]);
                last = locks.getLockid();
                return locks;
            }
            try {
                return method.invoke(client, arguments);
            } catch (InvocationTargetException failed) {
                throw failed.getCause();
            }
        }

        private LockResponse lock(LockRequest request) throws TException {
            try {
                return client.lock(request);
            } catch (TTransportException lost) {
                if (request.getTxnid() <= 0) {
                    throw lost;
                }
                LOG.warn("The metastore went away while transaction {} asked for locks. Another one is asked.", request.getTxnid(), lost);
                try {
                    client.reconnect();
                } catch (MetaException none) {
                    none.addSuppressed(lost);
                    throw none;
                }
                LockResponse queued = queued(request);
                return queued == null ? client.lock(request) : queued;
            }
        }

        /** What became of a request whose answer was lost; null if the metastore has not queued it. A caller asks again for locks that wait. */
        private LockResponse queued(LockRequest request) throws TException {
            ShowLocksRequest ofTransaction = new ShowLocksRequest();
            ofTransaction.setTxnid(request.getTxnid());
            return client.showLocks(ofTransaction).getLocks().stream()
                .filter(lock -> lock.getLockid() > last && Objects.equals(lock.getAgentInfo(), request.getAgentInfo()))
                .findFirst().map(lock -> new LockResponse(lock.getLockid(), lock.getState())).orElse(null);
        }
    }
}
